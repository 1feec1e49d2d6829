// Command generate writes the Go code of wia.proto: generate DIR FILE. It
// compiles the schema itself, so that only protoc-gen-go is needed, which go run
// builds.
package main

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"os/exec"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	log.SetFlags(0)
	code, err := generate(os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[2], code, 0o666)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func generate(dir string) ([]byte, error) {
	const name = "wia.proto"
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{ImportPaths: []string{dir}}}
	files, err := c.Compile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	in, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      proto.String("paths=source_relative,Mwia.proto=github.com/weightmap/weightmap/internal/peers/wiapb;wiapb"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(files[0])},
	})
	if err != nil {
		return nil, err
	}
	plugin := exec.Command("go", "run", "google.golang.org/protobuf/cmd/protoc-gen-go")
	plugin.Stdin, plugin.Stderr = bytes.NewReader(in), os.Stderr
	out, err := plugin.Output()
	if err != nil {
		return nil, err
	}
	var answer pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil || len(answer.File) != 1 {
		return nil, errors.New(answer.GetError())
	}
	return []byte(answer.File[0].GetContent()), nil
}
