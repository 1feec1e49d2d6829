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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weightmap/weightmap/examples/internal/digits"
	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/format/convert"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/mle"
	"github.com/weightmap/weightmap/tensor"
	"golang.org/x/net/netutil"
)

// trained writes the model of the examples to a file.
func trained(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digits.wia")
	must(t, os.WriteFile(path, digits.Trained(), 0o666))
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
	must(t, err)
}

// running serves a model and returns its address.
func running(t testing.TB, path string, l limits, o live.Options) (*server, string) {
	t.Helper()
	o.Prepare, o.Verify = prepare, true
	h, err := live.Open(path, &o)
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
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
	must(t, png.Encode(&b, m))
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
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	must(t, err)
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
		{"half", "application/json", good[:100], 400, "EOF"},
		{"no JSON", "application/json", "<drawing>", 400, "invalid character"},
		{"twice", "application/json", good + good, 400, "something follows"},
		{"garbage behind", "application/json", good + "x", 400, "something follows"},
		{"another field", "application/json", `{"widht":1}`, 400, "unknown field"},
		{"a list", "application/json", `[1]`, 400, "no drawing"},
		{"null", "application/json", `null`, 400, "0 by 0"},
		{"too few pixels", "application/json", `{"width":2,"height":2,"pixels":[1,2,3]}`, 400, "3 pixels, not 2 by 2"},
		{"too many pixels", "application/json", `{"width":1,"height":1,"pixels":[1,2,3]}`, 400, "3 pixels, not 1 by 1"},
		{"no pixels", "application/json", `{"width":2,"height":2}`, 400, "0 pixels"},
		{"negative", "application/json", `{"width":-2,"height":-2,"pixels":[1,2,3,4]}`, 400, "-2 by -2"},
		{"a product that wraps", "application/json", `{"width":4294967296,"height":4294967296,"pixels":[]}`, 413, "more than"},
		{"a number that is too large", "application/json", `{"width":1e300,"height":1,"pixels":[]}`, 400, "cannot unmarshal"},
		{"ink that is too dark", "application/json", `{"width":1,"height":1,"pixels":[256]}`, 400, "no pixel"},
		{"ink that is negative", "application/json", `{"width":1,"height":1,"pixels":[-1]}`, 400, "no pixel"},
		{"ink in parts", "application/json", `{"width":1,"height":1,"pixels":[0.5]}`, 400, "no pixel"},
		{"null for ink", "application/json", `{"width":1,"height":1,"pixels":[null]}`, 400, "no pixel"},
		{"text for ink", "application/json", `{"width":1,"height":1,"pixels":"AA=="}`, 400, "cannot unmarshal"},
		{"an empty drawing", "application/json", `{"width":1,"height":1,"pixels":[0]}`, 422, "nothing is drawn"},
		{"no picture", "image/png", good, 400, "no PNG"},
		{"half a picture", "image/png", pngOf(t, image.NewGray(image.Rect(0, 0, 99, 99)))[:60], 400, "no PNG"},
		{"a large picture", "image/png", pngOf(t, &sized{wide, 3000, 3000}), 413, "more than"},
		{"a white picture", "image/png", pngOf(t, &sized{wide, 30, 30}), 422, "nothing is drawn"},
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

// TestOtherSites checks that requests from pages of other sites are refused.
func TestOtherSites(t *testing.T) {
	s, url := running(t, trained(t), defaults, live.Options{})
	for from, want := range map[string]int{"": 200, "same-origin": 200, "none": 200, "cross-site": 403, "same-site": 403} {
		r, err := http.NewRequest(http.MethodPost, url+"/reload", nil)
		must(t, err)
		r.Header.Set("Sec-Fetch-Site", from)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%q: %d, want %d", from, answer.StatusCode, want)
		}
	}
	if n := s.h.Stats().Loads; n != 1 {
		t.Errorf("%d loads of a file that did not change", n)
	}
}

// TestSlowClients checks that slow clients are disconnected and do not delay others.
func TestSlowClients(t *testing.T) {
	l := defaults
	l.header, l.read, l.predictions = time.Second, 2*time.Second, 1 // a busy machine needs some of it for a good request
	_, url := running(t, trained(t), l, live.Options{})
	m := digits.Draw(7, 1)
	var slow []net.Conn
	for _, begin := range []string{
		"POST /pred",
		"POST /predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
	} {
		for range 10 {
			c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			must(t, err)
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

// TestTooManyAtATime checks that clients whose turn does not come get a status to retry, and that
// connections over the limit wait.
func TestTooManyAtATime(t *testing.T) {
	l := defaults
	l.predictions, l.wait, l.connections = 1, 10*time.Millisecond, 2
	s, url := running(t, trained(t), l, live.Options{})
	m := digits.Draw(7, 1)
	s.turns <- struct{}{} // a prediction that takes long
	status, text, err := post(url+"/predict", "application/json", jsonOf(&m))
	if status != http.StatusServiceUnavailable || err != nil {
		t.Errorf("%d, %s, %v", status, text, err)
	}
	<-s.turns
	var all sync.WaitGroup
	for range 10 {
		all.Add(1)
		go func() {
			defer all.Done()
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			r, err := client.Get(url + "/healthz")
			if err != nil || r.StatusCode != http.StatusOK {
				t.Error(r, err)
				return
			}
			r.Body.Close()
		}()
	}
	http.DefaultClient.CloseIdleConnections()
	all.Wait()
}

// TestFormats checks that all formats give the same predictions, and that only other types are
// decoded, once.
func TestFormats(t *testing.T) {
	master := trained(t)
	_, want := running(t, master, defaults, live.Options{})
	quantize := func(i tensor.Info) *tensor.QuantizeOptions {
		if len(i.Shape) == 1 {
			return nil
		}
		return &tensor.QuantizeOptions{}
	}
	const weights = 4 * (8*9 + 8 + 16*8*9 + 16 + 64*256 + 64 + 10*64 + 10)
	for _, c := range []struct {
		file    string
		o       convert.Options
		decoded int64 // -1 for all but the biases
	}{
		{"a.wia", convert.Options{}, 0}, {"a.mag", convert.Options{}, 0}, {"a.mle", convert.Options{}, 0}, {"a.mobi", convert.Options{}, 0}, {"a.tsr", convert.Options{}, 0},
		{"a.safetensors", convert.Options{}, 0}, {"a.gguf", convert.Options{}, 0}, {"a.onnx", convert.Options{}, 0},
		{"half.mag", convert.Options{DType: tensor.Float16}, weights}, {"half.mobi", convert.Options{DType: tensor.Float16}, weights},
		{"int8.wia", convert.Options{Quantize: quantize}, -1}, {"int8.mobi", convert.Options{Quantize: quantize}, -1},
		{"int8.mle", convert.Options{WriteOptions: format.WriteOptions{Format: &mle.WriteOptions{Compression: mle.MethodInt8}}}, weights},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			c.o.Lossy = true
			if _, err := convert.File(master, path, &c.o); err != nil {
				t.Fatal(err)
			}
			s, url := running(t, path, defaults, live.Options{})
			for digit := range digits.Classes {
				m := digits.Draw(digit, 1000)
				a, err1 := ask(want, &m)
				b, err2 := ask(url, &m)
				must(t, errors.Join(err1, err2))
				if exact := c.decoded == 0; exact && a.Probabilities != b.Probabilities || a.Digit != b.Digit {
					t.Errorf("%d: %v, not %v", digit, b, a)
				}
			}
			var m loaded
			if status, text := get(t, url+"/model"); status != http.StatusOK || json.Unmarshal([]byte(text), &m) != nil {
				t.Fatal(text)
			}
			if c.decoded >= 0 && m.Decoded != c.decoded || c.decoded < 0 && (m.Decoded == 0 || m.Decoded >= weights) || m.Name != c.file {
				t.Errorf("%+v, want %d bytes decoded", m, c.decoded)
			}
			if _, err := s.h.Reload(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestReloadsUnderLoad replaces the file by good and bad ones while many clients send requests.
func TestReloadsUnderLoad(t *testing.T) {
	master := trained(t)
	files := []string{master}
	for _, name := range []string{"a.mag", "a.mobi"} {
		path := filepath.Join(t.TempDir(), name)
		if _, err := convert.File(master, path, &convert.Options{Lossy: true}); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	must(t, os.WriteFile(bad, digits.Trained()[:50_000], 0o666))
	path := filepath.Join(t.TempDir(), "current")
	replace(t, path, master)
	s, url := running(t, path, defaults, live.Options{})
	m := digits.Draw(3, 1)
	want, err := ask(url, &m)
	must(t, err)
	var crowd sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		crowd.Add(1)
		go func() {
			defer crowd.Done()
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				a, err := ask(url, &m)
				if err != nil || a.Probabilities != want.Probabilities || a.Generation < last {
					t.Errorf("generation %d after %d: %v, %v", a.Generation, last, a, err)
					return
				}
				last = a.Generation
			}
		}()
	}
	refused := 0
	for i := range 60 {
		from, wanted := files[i%len(files)], http.StatusOK
		if i%4 == 3 {
			from, wanted, refused = bad, http.StatusUnprocessableEntity, refused+1
		}
		replace(t, path, from)
		var both sync.WaitGroup
		for range 2 {
			both.Add(1)
			go func() {
				defer both.Done()
				status, text, err := post(url+"/reload", "", "")
				if status != wanted || err != nil || strings.Contains(text, filepath.Dir(path)) {
					t.Errorf("reload %d: %d, %s, %v", i, status, text, err)
				}
			}()
		}
		both.Wait()
	}
	close(stop)
	crowd.Wait()
	if st := s.h.Stats(); st.Loads != uint64(1+60-refused) || st.Old > 0 || st.Leases != 0 {
		t.Errorf("%+v", st)
	}
	_, text := get(t, url+"/metrics")
	for _, want := range []string{
		fmt.Sprintf("\nserve_requests_total{path=\"/reload\",status=\"422\"} %d\n", 2*refused),
		"\nserve_predictions 0\n", "\nweightmap_live_generation{", "\nserve_prediction_seconds_bucket{le=\"+Inf\"} ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestOverwritten checks that mapped weights show a write to the file, unlike a private copy, and
// that the health endpoint reports it.
func TestOverwritten(t *testing.T) {
	for _, private := range []bool{false, true} {
		path := trained(t)
		s, url := running(t, path, defaults, live.Options{Copy: private})
		m := digits.Draw(3, 1)
		before, err := ask(url, &m)
		must(t, err)
		later := time.Now().Add(time.Second) // the times of some file systems are coarse
		must(t, errors.Join(os.WriteFile(path, make([]byte, len(digits.Trained())), 0o666), os.Chtimes(path, later, later)))
		after, err := ask(url, &m)
		must(t, err)
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
	must(t, err)
	must(t, os.Truncate(path, 0))
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

// TestStale checks the description of a file that is not served.
func TestStale(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		s    live.Stats
		want string
	}{
		{live.Stats{Missing: true}, "the file is not there"},
		{live.Stats{Since: now, LastError: errors.New("x"), LastErrorTime: now.Add(1)}, "the new file was refused: x"},
		{live.Stats{Since: now, LastError: errors.New("x"), LastErrorTime: now.Add(-1)}, "a new file is waited for to be whole"},
	} {
		if diff := cmp.Diff(c.want, stale(&c.s)); diff != "" {
			t.Error(diff)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
