package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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

// TestHeaderSize: a header of a megabyte, or of twice that, costs no more memory than the largest that is
// taken, by whatever client, and is not asked for again.
func TestHeaderSize(t *testing.T) {
	const most = 8 << 20
	own := &http.Client{Transport: &http.Transport{}}
	for _, client := range []*http.Client{nil, {}, own} {
		for _, redirects := range []int64{0, 3} {
			for _, fields := range []int{0, 10_000, 200_000, 400_000} {
				url, requests := raw(t, distinct(fields), redirects)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := NewReaderAt(context.Background(), url, &Options{Client: client, Window: 1 << 10})
				runtime.ReadMemStats(&after)
				used := after.TotalAlloc - before.TotalAlloc
				fits := fields < 100_000
				if fits && (err != nil || requests.Load() != redirects+1) || !fits && (!errors.Is(err, ErrAnswer) || requests.Load() != 1) || used > most*uint64(redirects+1) {
					t.Errorf("%d fields, %d redirects: %d bytes of memory, %d requests, %v", fields, redirects, used, requests.Load(), err)
				}
			}
		}
	}
}

// TestHeaderSizeHTTP2 is TestHeaderSize for HTTP/2, in which the server is told what is taken.
func TestHeaderSizeHTTP2(t *testing.T) {
	fields := 0
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header()["X"] = make([]string, fields)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("0123456789"))
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	for fields = range map[int]bool{100: true, 100_000: false} {
		_, err := NewReaderAt(context.Background(), s.URL, &Options{Client: s.Client(), Retries: -1})
		if (err == nil) != (fields == 100) {
			t.Errorf("%d fields: %v", fields, err)
		}
	}
}

// TestBoundedTransport: all objects that are read through one transport share connections, and
// a transport with a bound is used as it is.
func TestBoundedTransport(t *testing.T) {
	own := &http.Transport{}
	if a, b := boundedTransport(own), boundedTransport(own); a != b || a == own || a.MaxResponseHeaderBytes != mostHeader {
		t.Error(fmt.Sprint("copies differ, or have no bound: ", a.MaxResponseHeaderBytes))
	}
	own = &http.Transport{MaxResponseHeaderBytes: 1 << 20}
	if boundedTransport(own) != own {
		t.Error("a transport with a bound is copied")
	}
}
