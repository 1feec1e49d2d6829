package format

import (
	"io"

	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/pass"
)

// unchanged checks that the structure that Parse read has not changed in the files.
func (v *verification) unchanged() error {
	ranges := v.m.spaces.structure.All()
	for i := range ranges {
		p := &ranges[i]
		r := v.m.spaces.files[p.File].region.Load()
		if r == nil {
			continue // it has no tensor to verify, or verifySmall has compared it
		}
		err := v.pass.Compare(r, p, v.m.spaces.changed(r.Path()))
		if err != nil {
			return err
		}
	}
	return v.ctx.Err()
}

// Feed implements driver.Verification. It fails if bytes in or next to the range are not what Parse
// has read.
func (v *verification) Feed(h io.Writer, n driver.Space, off, size int64, part string) error {
	r, err := v.m.spaces.region(n)
	if err != nil {
		return err
	}
	err = r.Check(off, size)
	if err != nil {
		return err
	}
	parsed := v.m.spaces.structure.Of(uint32(n))
	at := pass.Range{File: r, Offset: off, Size: size}
	return v.pass.Recorded(at, parsed, v.m.spaces.changed(r.Path()), func(b []byte) error {
		if part != "" {
			v.Done(int64(len(b)), part)
		}
		_, err := h.Write(b)
		return err
	})
}
