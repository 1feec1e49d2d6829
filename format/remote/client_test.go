package remote

import (
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// raw serves the same answer to every request, after so many redirects.
func raw(t *testing.T, fields string, redirects int64) (url string, requests *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	requests = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, 100)) // the request is longer than that
			status := "206 Partial Content\r\nContent-Length: 10\r\nContent-Range: bytes 0-9/10"
			if n := requests.Add(1); n <= redirects {
				status = "302 Found\r\nContent-Length: 10\r\nLocation: /" + strconv.Itoa(int(n))
			}
			_, _ = io.WriteString(c, "HTTP/1.1 "+status+"\r\nConnection: close\r\nETag: \"one\"\r\n"+fields+"\r\n0123456789")
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, c)
			c.Close()
		}
	}()
	return "http://" + l.Addr().String(), requests
}

// distinct returns a header of n fields that are as short as can be.
func distinct(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.FormatInt(int64(i), 36) + ":\n")
	}
	return b.String()
}

// TestHeaderSize: a header of two megabytes costs no more memory than the largest that is taken.
func TestHeaderSize(t *testing.T) {
	const most = 8 << 20
	for _, fields := range []int{0, 10_000, 400_000} {
		url, _ := raw(t, distinct(fields), 0)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := NewReaderAt(context.Background(), url, &Options{Window: 1 << 10, Retries: -1})
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; (err == nil) != (fields < 100_000) || used > most {
			t.Errorf("%d fields: %d bytes of memory, %v", fields, used, err)
		}
	}
}
