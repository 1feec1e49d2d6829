package main

import (
	"io"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
	"github.com/ollama/ollama/fs/ggml"
	ollama "github.com/ollama/ollama/fs/gguf"
	"github.com/weightmap/weightmap/internal/peers/peer"
)

// readParser reads the data at the offsets that gguf-parser-go computes.
func readParser(path string) (all []peer.Tensor, err error) {
	g, err := parser.ParseGGUFFile(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, t := range g.TensorInfos {
		b, err := section(f, uint64(g.TensorDataStartOffset), t.Offset, t.Bytes())
		if err != nil {
			return nil, err
		}
		all = append(all, peer.Tensor{Name: t.Name, Data: b})
	}
	return all, nil
}

// readOllama reads each tensor through its section of the file. Empty tensors have no section.
func readOllama(path string) (all []peer.Tensor, err error) {
	g, err := ollama.Open(path)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var infos []ollama.TensorInfo
	for _, t := range g.TensorInfos() {
		infos = append(infos, t)
	}
	for _, t := range infos {
		tensor := peer.Tensor{Name: t.Name}
		if n := t.NumBytes(); n != 0 {
			if tensor.Data, err = readSection(g, t.Name, n); err != nil {
				return nil, err
			}
		}
		all = append(all, tensor)
	}
	return all, nil
}

func readSection(g *ollama.File, name string, n int64) ([]byte, error) {
	_, r, err := g.TensorReader(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err == nil && int64(len(b)) != n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// readGGML reads the data at the offsets that fs/ggml computes.
func readGGML(path string) (all []peer.Tensor, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	g, err := ggml.Decode(f, -1)
	if err != nil {
		return nil, err
	}
	tensors := g.Tensors()
	for _, t := range tensors.Items() {
		b, err := section(f, tensors.Offset, t.Offset, t.Size())
		if err != nil {
			return nil, err
		}
		all = append(all, peer.Tensor{Name: t.Name, Data: b})
	}
	return all, nil
}
