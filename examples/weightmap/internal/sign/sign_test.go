package sign

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/examples/weightmap/internal/modelfile"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/internal/expect"
	"github.com/weightmap/weightmap/tensor"
)

// command runs a command of the package, and returns what it prints.
func command(t *testing.T, c *modelfile.Command, line string) (status int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	status = c.Status(c.Run(t.Context(), &c.Tool, strings.Fields(line), &o, &e), &e)
	return status, o.String(), e.String()
}

// workshop changes into a directory with keys, models, and a signed directory.
func workshop(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, kind := range []string{"ed25519", "ecdsa", "rsa"} {
		status, _, errs := command(t, Keygen, "-type "+kind+" "+kind+".pem "+kind+".pub")
		expect.Equal(t, "0", string(rune('0'+status))+errs)
	}
	expect.OK(t, os.Mkdir("dir", 0o755))
	w := expect.Must(tensor.Of("w", tensor.Shape{2}, []float32{1, 2}))
	for _, name := range []string{"m.mle", "m.wia", "m.mag", "dir/model.safetensors"} {
		expect.OK(t, format.Save(t.Context(), name, nil, []tensor.View{w}, nil))
	}
}

// TestSignatures: what each command prints of each kind of signature.
func TestSignatures(t *testing.T) {
	workshop(t)
	for _, c := range []struct {
		name   string
		c      *modelfile.Command
		line   string
		status int
		says   string // in what is printed
	}{
		{"MLE", Sign, "-with ed25519.pem m.mle signed.mle", 0, "signed.mle: signed by SHA256:"},
		{"WIA by ECDSA", Sign, "-with ecdsa.pem m.wia signed.wia", 0, "signed.wia: signed by SHA256:"},
		{"WIA by RSA", Sign, "-with rsa.pem m.wia rsa.wia", 0, "rsa.wia: signed by SHA256:"},
		{"in place", Sign, "-with ed25519.pem m.mle", 0, "m.mle: signed by SHA256:"},
		{"a directory", Sign, "-with ecdsa.pem -signature dir/model.sig dir", 0, "dir/model.sig: dir signed by SHA256:"},
		{"a format without signatures", Sign, "-with rsa.pem m.mag", 1, "m.mag: unsupported: mag files have no signature"},
		{"MLE, trusted", Verify, "-trust ed25519.pub signed.mle", 0, "signed.mle: ok"},
		{"MLE, another key", Verify, "-trust ecdsa.pub signed.mle", 1, "signature verification failed"},
		{"WIA, not compared", Verify, "signed.wia", 0, "not checked against a trusted key"},
		{"RSA, trusted", Verify, "-trust rsa.pub rsa.wia", 0, "rsa.wia: ok"},
		{"a directory, trusted", Verify, "-signature dir/model.sig -trust ecdsa.pub dir", 0, "trusted\n"},
		{"its files", Verify, "-v -signature dir/model.sig -trust ecdsa.pub dir", 0, "  model.safetensors\n"},
		{"one that is not signed", Verify, "-trust ed25519.pub m.mag", 1, "the format has no signatures"},
		{"checksums", Verify, "-v m.mag", 0, "  data of 1 tensor: "},
		{"JSON", Verify, "-json m.mag", 0, `{"path":"m.mag","ok":true,`},
		{"JSON of nothing", Verify, "-json no.mag", 1, `"ok":false,"error":"`},
		{"two, of which one is missing", Verify, "m.mag no.mag", 1, "no.mag: no such file or directory"},
	} {
		status, out, errs := command(t, c.c, c.line)
		if status != c.status || !strings.Contains(out+errs, c.says) {
			t.Errorf("%s: %d, %q, %q", c.name, status, out, errs)
		}
	}
	// A changed file is named.
	expect.OK(t, os.WriteFile("dir/model.safetensors", []byte("x"), 0o666))
	status, out, errs := command(t, Verify, "-signature dir/model.sig -trust ecdsa.pub dir")
	if status != cli.Failed || out != "" || !strings.Contains(errs, "model.safetensors") {
		t.Errorf("%d, %q, %q", status, out, errs)
	}
}

// TestNewFiles: keygen makes both files or none, replaces nothing, and only its owner reads the key.
func TestNewFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	expect.OK(t, os.WriteFile("pub.pem", []byte("old"), 0o666))
	status, _, errs := command(t, Keygen, "key.pem pub.pem")
	if status != cli.Failed || !strings.Contains(errs, "pub.pem exists; keygen never replaces a file") {
		t.Errorf("%d, %q", status, errs)
	}
	if modelfile.Exists("key.pem") || string(expect.Read(t, "pub.pem")) != "old" {
		t.Error("it wrote a file")
	}
	status, _, _ = command(t, Keygen, "key.pem other.pem")
	st, err := os.Stat("key.pem")
	expect.OK(t, err)
	if mode := st.Mode().Perm(); status != cli.OK || runtime.GOOS != "windows" && mode&0o077 != 0 && mode != 0o666 { // 0666: no permissions here
		t.Errorf("%d, mode %o", status, mode)
	}
}

// TestIgnored: paths to leave out are relative to the model, or else to the current directory.
func TestIgnored(t *testing.T) {
	t.Chdir(t.TempDir())
	expect.OK(t, os.MkdirAll("model/sub", 0o755))
	expect.OK(t, os.WriteFile("model/a", nil, 0o666))
	absolute, err := filepath.Abs("model/sub")
	expect.OK(t, err)
	for _, c := range []struct {
		path, want string // want is "" for an error
	}{
		{"a", "a"}, {"sub", "sub"}, {"model/a", "a"}, {absolute, "sub"}, {"sub/../a", "a"}, {"not-there", "not-there"}, {"../model2", ""}, {"/", ""},
	} {
		d := &detached{ignore: []string{filepath.FromSlash(c.path)}}
		o, err := d.options("model", cli.NewProgress(&strings.Builder{}, ""))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %q", c.path, o.Ignore)
			}
			continue
		}
		expect.OK(t, err)
		expect.Equal(t, []string{c.want}, o.Ignore)
	}
}

// TestUsageOfCommands: each command of the package says what is missing, with its usage.
func TestUsageOfCommands(t *testing.T) {
	for c, says := range map[*modelfile.Command]string{
		Verify: "verify needs at least one FILE", Sign: "sign needs -with KEY.pem, IN and optionally OUT", Keygen: "keygen takes KEY.pem and PUB.pem",
	} {
		status, _, errs := command(t, c, "")
		if status != cli.Misuse || !strings.HasPrefix(errs, "weightmap: "+says+"\nusage: "+c.Name+" ") {
			t.Errorf("%s: %d, %s", c.Word(), status, errs)
		}
	}
}
