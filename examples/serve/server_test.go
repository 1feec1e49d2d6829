package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weightmap/weightmap/examples/digits"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/internal/expect"
	"golang.org/x/net/netutil"
)

// trained writes the model of the examples to a file.
func trained(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digits.wia")
	expect.OK(t, os.WriteFile(path, digits.Trained(), 0o666))
	return path
}

// replace replaces a file by a copy of another.
func replace(t testing.TB, path, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(path+".next", b, 0o666)
	}
	if err == nil {
		err = os.Rename(path+".next", path)
	}
	expect.OK(t, err)
}

// running serves a model and returns its address.
func running(t testing.TB, path string, l limits, o live.Options) (*server, string) {
	t.Helper()
	o.Prepare, o.Verify = prepare, true
	h, err := live.Open(t.Context(), path, &o)
	expect.OK(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.OK(t, err)
	s := newServer(h, &l)
	web := s.http(log.New(io.Discard, "", 0))
	go web.Serve(netutil.LimitListener(listener, l.connections))
	t.Cleanup(func() {
		if err := errors.Join(web.Close(), h.Close()); err != nil {
			t.Error(err)
		}
	})
	return s, "http://" + listener.Addr().String()
}

// jsonOf returns a drawing as the page sends it.
func jsonOf(m *digits.Image) string {
	pixels, err := json.Marshal(toInts(m[:]))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"width":%d,"height":%d,"pixels":%s}`, digits.Size, digits.Size, pixels)
}

func toInts(b []byte) []int {
	out := make([]int, len(b))
	for i, v := range b {
		out[i] = int(v)
	}
	return out
}

func pngOf(t testing.TB, m image.Image) string {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, png.Encode(&b, m))
	return b.String()
}

// post sends a body and returns the status and the response.
func post(url, kind, body string) (int, string, error) {
	r, err := http.Post(url, kind, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return r.StatusCode, strings.TrimSpace(string(text)), err
}

func get(t testing.TB, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	expect.OK(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	expect.OK(t, err)
	return r.StatusCode, string(text)
}

// ask returns the prediction for a drawing.
func ask(url string, m *digits.Image) (a answer, err error) {
	status, text, err := post(url+"/predict", "application/json", jsonOf(m))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, text)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	return a, err
}

// TestPredict checks that nearly all drawings are recognized, sent as JSON or as a picture.
func TestPredict(t *testing.T) {
	_, url := running(t, trained(t), defaults, live.Options{})
	right := 0
	for seed := range uint64(50) {
		digit := int(seed % digits.Classes)
		m := digits.Draw(digit, seed)
		a, err := ask(url, &m)
		if err != nil || a.Generation != 1 || a.Probabilities.Best() != a.Digit {
			t.Fatal(a, err)
		}
		if a.Digit == digit {
			right++
		}
		gray := image.NewGray(image.Rect(0, 0, digits.Size, digits.Size))
		for i, ink := range m {
			gray.Pix[i] = 255 - ink
		}
		status, text, err := post(url+"/predict", "image/png", pngOf(t, gray))
		var b answer
		if err := errors.Join(err, json.Unmarshal([]byte(text), &b)); err != nil || status != http.StatusOK || b.Digit != a.Digit {
			t.Errorf("as a picture: %d, %s, %v, not %d", status, text, err, a.Digit)
		}
	}
	if right < 47 {
		t.Errorf("%d of 50 are right", right)
	}
}

// TestRefused checks the errors for bodies that are not drawings, and that nothing of them is
// logged.
func TestRefused(t *testing.T) {
	_, url := running(t, trained(t), defaults, live.Options{})
	m := digits.Draw(1, 1)
	good := jsonOf(&m)
	wide := image.NewUniform(color.White)
	for _, c := range []struct {
		name, kind, body string
		status           int
		says             string
	}{
		{"nothing", "application/json", "", 400, "EOF"},
		{"twice", "application/json", good + good, 400, "something follows"},
		{"another field", "application/json", `{"widht":1}`, 400, "unknown field"},
		{"a list", "application/json", `[1]`, 400, "no drawing"},
		{"too few pixels", "application/json", `{"width":2,"height":2,"pixels":[1,2,3]}`, 400, "3 pixels, not 2 by 2"},
		{"a product that wraps", "application/json", `{"width":4294967296,"height":4294967296,"pixels":[]}`, 413, "more than"},
		{"ink that is too dark", "application/json", `{"width":1,"height":1,"pixels":[256]}`, 400, "no pixel"},
		{"an empty drawing", "application/json", `{"width":1,"height":1,"pixels":[0]}`, 422, "nothing is drawn"},
		{"no picture", "image/png", good, 400, "no PNG"},
		{"a large picture", "image/png", pngOf(t, &sized{wide, 3000, 3000}), 413, "more than"},
		{"text", "text/plain", good, 415, "image/png or application/json"},
		{"no type", "", good, 415, "image/png or application/json"},
		{"100 MB", "application/json", strings.Repeat(" ", 100<<20), 413, "more than 524288 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, text, err := post(url+"/predict", c.kind, c.body)
			if c.status == 413 && err != nil && len(c.body) > 1<<20 {
				return // the server closed the connection before it had read everything
			}
			var says map[string]string
			if json.Unmarshal([]byte(text), &says) != nil || status != c.status || !strings.Contains(says["error"], c.says) || len(says) != 1 || err != nil {
				t.Errorf("%d, %s, %v, want %d, %s", status, text, err, c.status, c.says)
			}
		})
	}
	for _, path := range []string{"/predict", "/reload", "/nothing", "/../etc/passwd"} {
		if status, _ := get(t, url+path); status != http.StatusMethodNotAllowed && status != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, status)
		}
	}
}

// sized is an image of another size.
type sized struct {
	image.Image
	width, height int
}

func (s *sized) Bounds() image.Rectangle { return image.Rect(0, 0, s.width, s.height) }
func (s *sized) ColorModel() color.Model { return color.GrayModel }
func (s *sized) At(x, y int) color.Color { return color.GrayModel.Convert(s.Image.At(x, y)) }

// TestSlowClients checks that slow clients are disconnected and do not delay others.
func TestSlowClients(t *testing.T) {
	l := defaults
	l.header = 5 * time.Second // a busy machine needs some of it for a good request
	l.read = 5 * time.Second
	l.predictions = 1
	_, url := running(t, trained(t), l, live.Options{})
	m := digits.Draw(7, 1)
	var slow []net.Conn
	for _, begin := range []string{
		"POST /pred",
		"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	} {
		for range 10 {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			expect.OK(t, err)
			defer c.Close()
			if _, err := io.WriteString(c, begin); err != nil {
				t.Fatal(err)
			}
			slow = append(slow, c)
		}
	}
	if a, err := ask(url, &m); err != nil || a.Digit != 7 {
		t.Errorf("meanwhile: %v, %v", a, err)
	}
	for i, c := range slow {
		c.SetReadDeadline(time.Now().Add(time.Minute)) // against hanging
		text, err := io.ReadAll(c)
		if err != nil || i >= 10 && !strings.Contains(string(text), "408 Request Timeout") {
			t.Errorf("slow client %d: %q, %v", i, text, err)
		}
	}
}

// TestOverwritten checks that mapped weights show a write to the file, unlike a private copy, and
// that the health endpoint reports it.
func TestOverwritten(t *testing.T) {
	for _, private := range []bool{false, true} {
		path := trained(t)
		s, url := running(t, path, defaults, live.Options{Open: &format.Options{Private: private}})
		m := digits.Draw(3, 1)
		before, err := ask(url, &m)
		expect.OK(t, err)
		later := time.Now().Add(time.Second) // the times of some file systems are coarse
		expect.OK(t, errors.Join(os.WriteFile(path, make([]byte, len(digits.Trained())), 0o666), os.Chtimes(path, later, later)))
		after, err := ask(url, &m)
		expect.OK(t, err)
		if private != (after.Probabilities == before.Probabilities) {
			t.Errorf("private %v: %v, and %v before", private, after, before)
		}
		if private {
			continue
		}
		if status, text := get(t, url+"/healthz"); status != http.StatusOK {
			t.Error("nobody looked yet: ", text)
		}
		if _, err := s.h.Reload(context.Background()); err == nil {
			t.Error("zeros are a model")
		}
		if status, text := get(t, url+"/healthz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "overwritten") {
			t.Error(status, text)
		}
		if _, text := get(t, url+"/model"); !strings.Contains(text, `"stale":"the new file was refused: `) {
			t.Error(text)
		}
	}
}

// TestCutShort checks that predictions from a truncated mapped file are errors, and that the server
// survives.
func TestCutShort(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("mapped files cannot be cut short here, or are not mapped")
	}
	path := trained(t)
	_, url := running(t, path, defaults, live.Options{})
	m := digits.Draw(3, 1)
	want, err := ask(url, &m)
	expect.OK(t, err)
	expect.OK(t, os.Truncate(path, 0))
	for range 20 {
		status, text, err := post(url+"/predict", "application/json", jsonOf(&m))
		if status != http.StatusInternalServerError || !strings.Contains(text, "truncated") || err != nil {
			t.Fatal(status, text, err)
		}
	}
	replace(t, path, trained(t))
	if status, text, err := post(url+"/reload", "", ""); status != http.StatusOK || err != nil {
		t.Error(status, text, err)
	}
	if a, err := ask(url, &m); err != nil || a.Probabilities != want.Probabilities {
		t.Errorf("%v, %v, and %v before", a, err, want)
	}
}
