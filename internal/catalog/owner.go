package catalog

import "github.com/weightmap/weightmap/tensor"

// A Catalog is the owner of its views: it adds to the region what it takes to
// load tensors that do not lie there as such.
var _ tensor.Loader = (*Catalog)(nil)

// Enter holds the memory for a short use of data: Close waits for Leave.
func (c *Catalog) Enter() error {
	if err := c.pass(); err != nil {
		return err
	}
	return c.region.Enter()
}

// Leave ends what Enter began.
func (c *Catalog) Leave() { c.region.Leave() }

// Lend announces that a raw slice leaves the library.
func (c *Catalog) Lend() error {
	if err := c.pass(); err != nil {
		return err
	}
	return c.region.Lend()
}

// Origin names the format and the file.
func (c *Catalog) Origin() (format, path string) { return c.region.Origin() }

// Pin holds the memory across Close: Close returns, but slices stay valid until
// the last unpin. unpin may be called more than once.
func (c *Catalog) Pin() (unpin func(), err error) { return c.region.Pin() }

// Close forbids further access, waits for running View.Use calls, and unmaps
// the file. A second Close does nothing.
func (c *Catalog) Close() error {
	err := c.region.Close()
	// Nobody is inside any more; what was kept can go even if the model itself
	// is still reachable.
	c.once.Do(func() {})
	for i := range c.cells {
		cell := &c.cells[i]
		cell.mu.Lock()
		cell.data = nil
		cell.mu.Unlock()
	}
	return err
}

// Prefetch asks the system to read the whole file ahead.
func (c *Catalog) Prefetch() error { return c.region.Prefetch(0, c.region.Size()) }

// Load implements tensor.Loader: a tensor from Fetch is fetched once and kept;
// a misaligned one is copied once and kept; one behind an io.ReaderAt is read
// anew every time.
func (c *Catalog) Load(info *tensor.Info) ([]byte, error) {
	if err := c.pass(); err != nil {
		return nil, err
	}
	i, ok := c.Index(info.Name)
	if !ok {
		return nil, tensor.ErrCorrupt
	}
	lazy := c.records[i].lazy
	if !lazy && !c.region.InMemory() {
		return c.region.Slice(info.Offset, info.Size)
	}
	cell := c.cell(i)
	cell.mu.Lock()
	defer cell.mu.Unlock()
	if cell.data != nil {
		return cell.data, nil
	}
	var data []byte
	err := c.region.Guard(func() (err error) {
		if lazy {
			data, err = c.Fetch(i)
			return err
		}
		data = tensor.AlignedBytes(int(info.Size))
		copy(data, c.stored(i))
		return nil
	})
	if err != nil {
		return nil, err
	}
	cell.data = data
	return data, nil
}

// cell returns where the copy of tensor i is kept.
func (c *Catalog) cell(i int) *cell {
	c.once.Do(func() { c.cells = make([]cell, len(c.records)) })
	return &c.cells[i]
}
