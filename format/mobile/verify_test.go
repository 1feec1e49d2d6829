package mobile

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/weightmap/weightmap/format"
)

// watch notes what it is told, and cancels at some call.
type watch struct {
	calls, cancelAt int
	done, total     int64
}

func (w *watch) OnProgress(done, total int64, tensor string) bool {
	w.calls++
	w.done, w.total = done, total
	return w.calls != w.cancelAt
}

func TestVerify(t *testing.T) {
	file, want := sample(t)
	bad := bytes.Clone(file)
	bad[want.Tensors[1].Place] ^= 1
	tests := []struct {
		name     string
		file     []byte
		cancelAt int
		code     string
	}{
		{"good", file, 0, ""},
		{"bad", bad, 0, CodeChecksum},
		{"cancelled", file, 1, CodeCancelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, err := OpenBytes(test.file, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			w := &watch{cancelAt: test.cancelAt}
			err = m.Verify(w)
			if got := ErrorCode(err); got != test.code {
				t.Fatalf("code %q, want %q (%v)", got, test.code, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "mag: ") {
				t.Errorf("the format is not named: %v", err)
			}
			if w.calls == 0 || w.total == 0 || test.code == "" && w.done != w.total {
				t.Errorf("%d calls, %d of %d bytes in the end", w.calls, w.done, w.total)
			}
			if test.cancelAt > 0 && w.calls != test.cancelAt {
				t.Errorf("%d calls, %d after cancelling", w.calls, w.calls-test.cancelAt)
			}
		})
	}
}

func TestVerifySigned(t *testing.T) {
	file, _ := sample(t)
	m, err := OpenBytes(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, code string
		key        []byte
	}{
		{"DER", CodeSignature, der}, // the file carries no signature
		{"PEM", CodeSignature, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})},
		{"no key", CodeKey, nil},
		{"bad key", CodeKey, der[1:]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := m.VerifySigned(test.key, nil); ErrorCode(err) != test.code {
				t.Errorf("%v, want code %q", err, test.code)
			}
		})
	}
}

func TestErrorCode(t *testing.T) {
	wrapped := func(err error) error {
		return &format.Error{Format: "mag", Offset: 8, Err: fmt.Errorf("%w: and more", err)}
	}
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""},
		{wrapped(format.ErrUnknownFormat), CodeUnknownFormat},
		{wrapped(format.ErrMagic), CodeMagic},
		{wrapped(format.ErrVersion), CodeVersion},
		{wrapped(format.ErrTruncated), CodeTruncated},
		{wrapped(format.ErrCorrupt), CodeCorrupt},
		{wrapped(format.ErrChecksum), CodeChecksum},
		{wrapped(format.ErrSignature), CodeSignature},
		{wrapped(format.ErrKey), CodeKey},
		{wrapped(format.ErrLimit), CodeLimit},
		{wrapped(format.ErrUnsupported), CodeUnsupported},
		{wrapped(format.ErrQuantization), CodeQuantization},
		{wrapped(format.ErrDType), CodeDType},
		{wrapped(format.ErrShape), CodeShape},
		{wrapped(format.ErrClosed), CodeClosed},
		{wrapped(errNotFound), CodeNotFound},
		{wrapped(errIndex), CodeIndex},
		{wrapped(errCancelled), CodeCancelled},
		{wrapped(context.Canceled), CodeCancelled},
		{wrapped(&fs.PathError{Op: "open", Path: "x", Err: errors.New("gone")}), CodeFile},
		{wrapped(syscall.ENOENT), CodeFile},
		{errors.New("an exception of the app's"), CodeOther},
	}
	for _, test := range tests {
		if got := ErrorCode(test.err); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}
