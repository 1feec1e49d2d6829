package load

import (
	"context"
	"fmt"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/format/driver"
	"github.com/weightmap/weightmap/internal/source"
	"github.com/weightmap/weightmap/internal/work"
)

// mixed are the sizes of tensors that make one group and a half.
var mixed = []int64{20_000, 100_000, 16 << 10, 300, 64 << 10, work.Step - 400_000, 0, 150_000, 170_000, work.Step + 5}

// mixedModel has such tensors, one after the other, with sums.
func mixedModel() (d *toy, data []byte) {
	d = &toy{}
	total := int64(0)
	for i, size := range mixed {
		d.tensors = append(d.tensors, u8(fmt.Sprint("t", i), total, size))
		total += size
	}
	data = ramp(int(total))
	want := make([]uint64, len(mixed))
	for i, t := range d.tensors {
		want[i] = xxhash.Sum64(data[t.Offset : t.Offset+t.Size])
	}
	d.file = sums{func(i int) driver.Sum { return driver.Sum{Kind: driver.XXH64, Want: want[i]} }}
	return d, data
}

// TestVerifyGroups: progress comes in order and adds up, and the error names the first
// tensor that is wrong.
func TestVerifyGroups(t *testing.T) {
	d, data := mixedModel()
	m := open(t, source.FromBytes(data), d)
	var got, want []string
	for i, size := range mixed {
		for n := size; n > 0; n -= work.Step {
			want = append(want, fmt.Sprint("t", i))
		}
	}
	last := int64(0)
	report := func(done, total int64, name string) {
		last = done
		if got = append(got, name); total != int64(len(data)) {
			t.Errorf("%d in total, want %d", total, len(data))
		}
	}
	c, err := m.Verify(context.Background(), &VerifyOptions{Workers: 1, Progress: report})
	if err != nil || last != int64(len(data)) {
		t.Errorf("%d of %d bytes: %v", last, len(data), err)
	}
	for i, by := range c.Tensors {
		if c.By[by] != "xxh64" {
			t.Errorf("tensor %d is covered by %q", i, c.By[by])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	for first, size := range mixed {
		if size == 0 {
			continue
		}
		for second := first; second < len(mixed); second++ {
			d, data := mixedModel()
			for _, i := range []int{first, second} {
				data[max(d.tensors[i].Offset, d.tensors[i].Offset+mixed[i]-1)] ^= 0x40
				if first == second {
					break
				}
			}
			if mixed[second] == 0 {
				continue // its byte is that of another
			}
			for _, workers := range []int{1, 2} {
				_, err := open(t, source.FromBytes(data), d).Verify(context.Background(), &VerifyOptions{Workers: workers})
				wantError(t, fmt.Sprint(first, " and ", second), err, driver.ErrChecksum, tensorField(fmt.Sprint("t", first)))
			}
		}
	}
}
