//go:build !windows

package sink

func explainRename(err error) error { return err }
