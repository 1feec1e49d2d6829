// Command serve recognizes drawings of digits over HTTP with a network from a model file of any
// format. The file can be replaced while it runs: a rename to its path is detected within the
// interval -watch, or by POST /reload. No request fails or uses two models because of it.
//
//	cd examples/serve && go run . [-addr :8080] [-watch 1s] [-private] [-trust key.pem | -signed key.pem] model.any
//
//	GET  /         a page to draw a digit on
//	POST /predict  a PNG (Content-Type: image/png), or JSON: {"width":28,"height":28,"pixels":[0,255,...]},
//	               row by row, 0 for paper and 255 for ink
//	GET  /model    what is loaded
//	POST /reload   look at the file now, and load it if it changed
//	GET  /healthz  200 while answers can be trusted
//	GET  /metrics  for Prometheus
//
// With -trust or -signed only signed models are served: each file is compared before anything of it
// is used, at the start and at every reload. -trust takes a public key for signatures inside mle
// and wia files (format.TrustKey), -signed the key or root certificate for a bundle beside the
// model (signing.Policy).
//
// There is no authentication: anyone who can reach the address can use the service. Requests
// from pages of other sites are refused by their headers.
//
// # Copying
//
// The engine (gomlx's pure-Go backend) reads the weights where they are mapped; see package
// examples/train/net. Weights of another type (int8, float16) and compressed ones are decoded
// once per loaded file, not per request. GET /model reports their size, 75 kB if all are
// decoded. MOBI numbers its tensors; convert and examples/train store the names in an operator
// of the graph.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weightmap/weightmap/examples/cli"
	"github.com/weightmap/weightmap/format"
	_ "github.com/weightmap/weightmap/format/all"
	"github.com/weightmap/weightmap/format/live"
	"github.com/weightmap/weightmap/format/signing"
	"golang.org/x/net/netutil"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

var tool = cli.Tool{
	Name: "serve", Args: "[-addr ADDR] [-watch INTERVAL] [-private] [-trust KEY | -signed TRUST] model",
	About: "Serve a network that reads digits, from a model file that may be replaced at any time.",
	Details: "GET / is a page to draw on. POST /predict takes a PNG or JSON, POST /reload looks at the\n" +
		"file at once. GET /model, /healthz and /metrics say what is loaded and how it does.\n",
	Example: "serve -addr localhost:8080 ../digits/testdata/digits.wia",
}

// config is the command line.
type config struct {
	addr, path, trust, signed string
	watch                     time.Duration
	private                   bool
	limits                    limits
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	c := config{limits: defaults}
	f := tool.Flags()
	f.StringVar(&c.addr, "addr", "localhost:8080", "listen at `ADDR`, host:port; :8080 is port 8080 of all interfaces")
	f.DurationVar(&c.watch, "watch", time.Second, "look for a new file every `INTERVAL`; 0 for only on POST /reload")
	f.BoolVar(&c.private, "private", false, "serve a copy, for files that others overwrite in place")
	f.StringVar(&c.trust, "trust", "", "refuse files that are not signed by the public key in the PEM file `KEY`")
	f.StringVar(&c.signed, "signed", "", "refuse models without a detached signature (MODEL.sig or model.sig) by a public key or root certificate in the PEM file `TRUST`")
	err := tool.Parse(f, args, out)
	switch {
	case err != nil:
	case c.trust != "" && c.signed != "":
		err = tool.Usagef("-trust and -signed exclude each other")
	case f.NArg() != 1:
		err = tool.Usagef("one model is needed")
	case c.watch < 0:
		err = tool.Usagef("-watch must not be negative")
	default:
		c.path = f.Arg(0)
		err = serve(ctx, &c, out, log.New(errs, "serve: ", log.LstdFlags|log.Lmsgprefix))
	}
	return tool.Status(err, errs)
}

// serve serves until ctx is done, then waits for requests that have begun.
func serve(ctx context.Context, c *config, out io.Writer, logs *log.Logger) error {
	o := &format.Options{Private: c.private}
	if c.trust != "" {
		key, err := cli.ReadPublic(c.trust)
		if err != nil {
			return err
		}
		o.Trusted = format.TrustKey(key)
	}
	if c.signed != "" {
		trust, err := signing.ReadTrust(c.signed)
		if err != nil {
			return err
		}
		o.Trusted = &signing.Policy{Trust: trust}
	}
	h, err := live.Open(ctx, c.path, &live.Options{
		Open: o, Verify: true, Warm: true, Prepare: prepare, Interval: c.watch, Notify: func(e live.Event) { report(logs, e) },
	})
	if err != nil {
		return err
	}
	defer h.Close()
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	s := newServer(h, &c.limits)
	server := s.http(logs)
	if _, err := fmt.Fprintf(out, "http://%s/ serves %s\n", listener.Addr(), cli.Printable(c.path)); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	if c.watch > 0 {
		go h.Watch(watching)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(netutil.LimitListener(listener, c.limits.connections)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return s.drain(server, logs)
}

// drain refuses new connections and waits for requests that have begun.
func (s *server) drain(server *http.Server, logs *log.Logger) error {
	s.draining.Store(true)
	logs.Print("ending: requests that have begun are answered")
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.drain)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), server.Close())
	}
	return err
}

// report logs an event of the model.
func report(logs *log.Logger, e live.Event) {
	switch e.Kind {
	case live.Loaded:
		logs.Printf("generation %d loaded in %v", e.Generation, e.Took.Round(time.Microsecond))
	default:
		logs.Printf("%v, generation %d stays: %s", e.Kind, e.Generation, cli.Printable(e.Err.Error()))
	}
}
