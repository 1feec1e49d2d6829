package mag

import (
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/format/schema"
)

// Layout implements driver.Writer.
func (d fileFormat) Layout(p *schema.Schema, o *driver.LayoutOptions) (*driver.Layout, error) {
	if d.Snapshot {
		return layoutSnapshot(p, o)
	}
	return layoutV1(p, d)
}
