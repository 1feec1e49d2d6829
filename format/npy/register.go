package npy

import (
	"bytes"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/zip"
)

// fileFormat is the driver of .npy files.
type fileFormat struct{}

// archiveFormat is the driver of .npz files.
type archiveFormat struct{}

var (
	_ driver.Layouter = fileFormat{}
	_ driver.Lossy    = fileFormat{}
	_ driver.Layouter = archiveFormat{}
	_ driver.Lossy    = archiveFormat{}
)

var (
	fileCodec    = format.With(fileFormat{})
	archiveCodec = format.With(archiveFormat{})

	fileExtensions    = []string{extension}
	archiveExtensions = []string{".npz"}
)

func init() {
	format.Register(fileFormat{})
	format.Register(archiveFormat{})
	format.FindInDirectories()
}

// Describe implements driver.Driver.
func (fileFormat) Describe() driver.Description {
	return driver.Description{Name: single, Extensions: fileExtensions}
}

// Detect implements driver.Driver.
func (fileFormat) Detect(head []byte, _ int64) bool { return bytes.HasPrefix(head, []byte(magic)) }

// Parse implements driver.Driver.
func (fileFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	return parseFile(src, x, o)
}

// Losses implements driver.Lossy. A file is the name of its tensor; where a stream
// ends up is not known.
func (fileFormat) Losses(p *driver.Plan, o *driver.WriteOptions, l *driver.LossList) {
	losses(p, l, single)
	if n := len(p.Tensors); n != 1 {
		l.Fixed(driver.LossTensors, "", fmt.Errorf("%w: %d: a .npy file holds one tensor", format.ErrUnsupported, n))
		return
	}
	if name, err := nameOf(o.Path); o.Path != "" && (err != nil || name != p.Tensors[0].Name) {
		l.Renamed(p, 0, fmt.Sprintf("the tensor of a .npy file has the file's name, %q", name))
	}
}

// Layout implements driver.Layouter.
func (fileFormat) Layout(p *driver.Plan, _ *driver.WriteOptions) (*driver.Layout, error) {
	return fileLayout(p)
}

// Describe implements driver.Driver.
func (archiveFormat) Describe() driver.Description {
	return driver.Description{Name: archive, Extensions: archiveExtensions}
}

// Detect implements driver.Driver. Any entry may come first, but not one without a
// name, nor one that torch.save writes; an archive without entries is one record.
func (archiveFormat) Detect(head []byte, size int64) bool {
	if name := zip.FirstName(head); name != "" {
		return name[0] != 0 && !zip.IsTorch(name)
	}
	return zip.IsEmpty(head, size)
}

// Parse implements driver.Driver.
func (archiveFormat) Parse(src driver.Source, x *driver.Index, o *driver.Options) (*driver.Parsed, error) {
	return parseArchive(src, x, o)
}

// Losses implements driver.Lossy.
func (archiveFormat) Losses(p *driver.Plan, _ *driver.WriteOptions, l *driver.LossList) {
	losses(p, l, archive)
}

// Layout implements driver.Layouter.
func (archiveFormat) Layout(p *driver.Plan, _ *driver.WriteOptions) (*driver.Layout, error) {
	return archiveLayout(p)
}
