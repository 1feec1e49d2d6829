package torch_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/weightmap/weightmap/format/torch"
	"github.com/weightmap/weightmap/tensor"
)

// Open reads the pickle without running any code in it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "torch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.pt")
	if err := os.WriteFile(path, saved(), 0o666); err != nil {
		log.Fatal(err)
	}

	m, err := torch.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	for name, v := range m.Tensors() {
		values, err := tensor.Decode[float32](nil, v)
		fmt.Println(name, v.DType(), v.Shape(), values, err)
	}
	// Output: w float32 [2] [1 2] <nil>
}

// saved returns what torch.save({"w": torch.tensor([1.0, 2.0])}, path) writes.
func saved() []byte {
	pickle := "\x80\x02}(X\x01\x00\x00\x00w" + // {"w":
		"ctorch._utils\n_rebuild_tensor_v2\n(" +
		"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x02tQ" + // 2 elements in data/0
		"K\x00(K\x02t(K\x01t\x89ccollections\nOrderedDict\n)RtR" + // offset 0, shape [2], stride [1]
		"u."
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, data := range map[string]string{
		"model/data.pkl": pickle,
		"model/version":  "3\n",
		"model/data/0":   "\x00\x00\x80\x3f\x00\x00\x00\x40",
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name}) // stored, not compressed
		if err == nil {
			_, err = io.WriteString(w, data)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		log.Fatal(err)
	}
	return b.Bytes()
}
