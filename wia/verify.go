package wia

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/weightmap/weightmap/format"
	"github.com/weightmap/weightmap/internal/mapped"
	"github.com/weightmap/weightmap/internal/wire"
	"github.com/weightmap/weightmap/internal/work"
	"github.com/weightmap/weightmap/tensor"
)

var (
	errNoChecksums = fmt.Errorf("%w: no checksums", format.ErrChecksum)
	errUncovered   = fmt.Errorf("%w: external data without a checksum are not covered by it", format.ErrSignature)
)

// Verify checks the SHA-256 of header, metadata, graph and tensor block, those
// of external data, and that compressed tensors inflate to their size. A file
// without a signature block carries no checksums and fails. With a trusted key
// the signature must be valid and by that key, and external data must have
// checksums, or it would not cover them; without one it is not looked at.
//
// The tensor block has one checksum for all its tensors: WithTensors spares it
// only when all tensors named are external (and no signature is checked, which
// would cover it). External data and compressed tensors are checked one by
// one. Blocks and files are hashed in parallel.
func (f *File) Verify(ctx context.Context, opts ...format.VerifyOption) error {
	o := format.NewVerifyOptions(opts)
	return f.region.Locate(f.withinNoGuard(func() error {
		v := &verification{f: f, ctx: ctx, o: o}
		if err := v.plan(); err != nil {
			return err
		}
		if err := v.run(); err != nil {
			return err
		}
		return f.checkSignature(o.Trusted)
	}))
}

// withinNoGuard is within for work that other goroutines do, each with a guard
// of its own.
func (f *File) withinNoGuard(fn func() error) error {
	if err := f.Enter(); err != nil {
		return err
	}
	defer f.Leave()
	return fn()
}

// verification is a list of jobs.
type verification struct {
	f    *File
	ctx  context.Context
	o    *format.VerifyOptions
	jobs []job
	p    *work.Progress
}

// job hashes size bytes and compares, or inflates.
type job struct {
	name string
	size int64
	run  func(*job) error
}

// plan lists what is to be done, the largest part first.
func (v *verification) plan() error {
	f := v.f
	if f.signature == nil {
		if v.o.Trusted != nil {
			return wire.Error(formatName, "signature_size", signatureField, fmt.Errorf("%w: the file is not signed", format.ErrSignature))
		}
		return wire.Error(formatName, "signature_size", signatureField, errNoChecksums)
	}
	wanted, err := v.wanted()
	if err == nil && v.o.Trusted != nil {
		err = f.region.Guard(func() error { return v.covered(wanted) })
	}
	if err != nil {
		return err
	}
	block := len(v.o.Tensors) == 0 || v.o.Trusted != nil
	var tensors []job
	for i, r := range f.records {
		if wanted != nil && !wanted[i] {
			continue
		}
		if !r.external {
			block = block || !r.graph
		}
		if r.external || r.compressed {
			tensors = append(tensors, v.tensorJob(i, r.external))
		}
	}
	if block {
		v.addBlock(3, f.hdr.blocks[tensorBlock])
	}
	v.jobs = append(v.jobs, tensors...)
	if err := f.region.Guard(v.attributes); err != nil {
		return err
	}
	v.addBlock(2, f.hdr.blocks[graphBlock])
	v.addBlock(1, f.hdr.blocks[metadataBlock])
	v.addBlock(0, span{0, headerSize})
	return nil
}

// wanted returns which tensors WithTensors names, nil for all.
func (v *verification) wanted() ([]bool, error) {
	if len(v.o.Tensors) == 0 {
		return nil, nil
	}
	wanted := make([]bool, v.f.Len())
	for _, name := range v.o.Tensors {
		i, ok := v.f.Index(name)
		if !ok {
			return nil, wire.Errorf(formatName, fmt.Sprintf("tensor %q", name), -1, format.ErrUnsupported, "the file has no such tensor")
		}
		wanted[i] = true
	}
	return wanted, nil
}

// covered fails for external data without a checksum: a signature covers what
// the model's file says of them, and so not their bytes.
func (v *verification) covered(wanted []bool) error {
	f := v.f
	for i, r := range f.records {
		if !r.external || wanted != nil && !wanted[i] {
			continue
		}
		h, err := f.tensorHead(i)
		if err != nil {
			return err
		}
		if len(h.ext.checksum) == 0 {
			return f.externalError(i, errUncovered)
		}
	}
	if !f.hidden {
		return nil
	}
	g, err := f.decoded()
	if err != nil {
		return err
	}
	g.eachHidden(func(t *Tensor) {
		if err == nil && t.External != nil && t.External.Checksum == "" {
			err = wire.Error(formatName, fmt.Sprintf("graph: tensor %q", t.Name), f.hdr.blocks[graphBlock].off, errUncovered)
		}
	})
	return err
}

// addBlock adds the comparison of one of the four sums.
func (v *verification) addBlock(sum int, s span) {
	f := v.f
	v.jobs = append(v.jobs, job{sumNames[sum], s.size, func(j *job) error {
		got, err := v.hash(f.region, s.off, s.size, j.name)
		if err == nil && got != f.signature.sums[sum] {
			err = wire.Errorf(formatName, sumNames[sum], s.off, format.ErrChecksum, "SHA-256 of the block is %x, recorded %x", got[:8], f.signature.sums[sum][:8])
		}
		return err
	}})
}

// tensorJob adds an external or a compressed tensor.
func (v *verification) tensorJob(i int, external bool) job {
	info := v.f.Info(i)
	if !external {
		return job{info.Name, info.Size, func(j *job) error {
			err := v.f.region.Guard(func() error {
				_, err := v.f.fetch(i)
				return err
			})
			v.p.Add(j.size, j.name)
			return err
		}}
	}
	return job{info.Name, info.Size, func(j *job) error {
		var e externalHead
		err := v.f.region.Guard(func() error {
			h, err := v.f.tensorHead(i)
			if err == nil {
				e = h.ext
				e.location, e.checksum = bytes.Clone(e.location), bytes.Clone(e.checksum)
			}
			return err
		})
		if err != nil {
			return err
		}
		return v.f.externalError(i, v.external(&e, j.name))
	}}
}

// externalError says which tensor an error about external data is about, and
// where its message lies.
func (f *File) externalError(i int, err error) error {
	var inner *tensor.Error
	if errors.As(err, &inner) && inner.Path == "" && inner.Field != "" {
		err = fmt.Errorf("%s: %w", inner.Field, inner.Err)
	}
	if err != nil {
		err = under("external_data", &defect{at: f.records[i].at, err: err})
	}
	return f.payloadOf(i).locate(fmt.Sprintf("tensor %q", f.Name(i)), err)
}

// attributes adds the external data of tensors within attributes and subgraphs.
func (v *verification) attributes() error {
	if !v.f.hidden {
		return nil
	}
	g, err := v.f.decoded()
	if err != nil {
		return err
	}
	g.eachHidden(func(t *Tensor) {
		if t.External != nil {
			e := t.External.head()
			v.jobs = append(v.jobs, job{"graph", e.length, func(j *job) error { return v.external(e, j.name) }})
		}
	})
	return nil
}

// external checks that a range exists and has the sum it should have.
func (v *verification) external(e *externalHead, name string) error {
	r, _, err := v.f.ext.data(e)
	if err != nil {
		return err
	}
	if err := r.Enter(); err != nil {
		return err
	}
	defer r.Leave()
	got, err := v.hash(r, e.offset, e.length, name)
	if err != nil || len(e.checksum) == 0 {
		return err
	}
	want, _ := hex.DecodeString(string(e.checksum[len(checksumPrefix):]))
	if !bytes.Equal(want, got[:]) {
		err = v.f.ext.fail(e, fmt.Errorf("%w: SHA-256 of %d bytes at %d is %x, recorded %x", format.ErrChecksum, e.length, e.offset, got[:8], want[:8]))
	}
	return err
}

// hash returns the SHA-256 of a range, in steps so that it can be cancelled.
func (v *verification) hash(r *mapped.Region, off, size int64, name string) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	err = r.Guard(func() error {
		for size > 0 {
			n := min(size, work.Step)
			b, err := r.Slice(off, n)
			if err != nil {
				return err
			}
			if err := work.Chunks(v.ctx, b, v.p, name, func(p []byte) { h.Write(p) }); err != nil {
				return err
			}
			off, size = off+n, size-n
		}
		return nil
	})
	if err != nil {
		return sum, err // a fault inside Write leaves a digest that cannot be summed
	}
	h.Sum(sum[:0])
	return sum, nil
}

// run does the jobs.
func (v *verification) run() error {
	total := int64(0)
	for _, j := range v.jobs {
		total += j.size
	}
	v.p = work.NewProgress(v.o.Progress, total)
	return work.Each(v.ctx, len(v.jobs), v.o.Workers, func(i int) error { return v.jobs[i].run(&v.jobs[i]) })
}

// checkSignature checks the signature against a trusted key, if there is one.
func (f *File) checkSignature(trusted crypto.PublicKey) error {
	if trusted == nil {
		return nil
	}
	fail := func(text string, args ...any) error {
		return wire.Errorf(formatName, "signature", f.hdr.blocks[signatureBlock].off, format.ErrSignature, text, args...)
	}
	s := f.signature
	if !s.signed {
		return fail("the file is not signed")
	}
	if len(s.publicKey) > 0 {
		named, err := x509.ParsePKIXPublicKey(s.publicKey)
		if err != nil {
			return fail("public_key: %v", err)
		}
		if k, ok := named.(interface{ Equal(crypto.PublicKey) bool }); !ok || !k.Equal(trusted) {
			return fail("signed by another key than the trusted one")
		}
	}
	digest := sha256.Sum256(s.message())
	if err := verifyDigest(trusted, s.algorithm, digest[:], s.signature); err != nil {
		return fail("%v", err)
	}
	return nil
}

// The values of Signature.algorithm.
const (
	algorithmRSA   = "RSA-SHA256"
	algorithmECDSA = "ECDSA"
)

// verifyDigest checks a signature over a SHA-256 digest.
func verifyDigest(key crypto.PublicKey, algorithm string, digest, sig []byte) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if algorithm != algorithmRSA {
			break
		}
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, digest, sig)
	case *ecdsa.PublicKey:
		if algorithm != algorithmECDSA || k.Curve != elliptic.P256() {
			break
		}
		if !ecdsa.VerifyASN1(k, digest, sig) {
			return errors.New("the ECDSA signature does not fit")
		}
		return nil
	}
	return fmt.Errorf("algorithm %q does not go with a trusted key of type %T", algorithm, key)
}

// eachHidden calls f for the tensors of attributes and subgraphs.
func (g *Graph) eachHidden(f func(*Tensor)) {
	for i := range g.Nodes {
		for j := range g.Nodes[i].Attributes {
			a := &g.Nodes[i].Attributes[j]
			if a.T != nil {
				f(a.T)
			}
			for k := range a.Tensors {
				f(&a.Tensors[k])
			}
			if a.G != nil {
				a.G.eachOwn(f)
			}
			for k := range a.Graphs {
				a.Graphs[k].eachOwn(f)
			}
		}
	}
}

// eachOwn is eachHidden for a subgraph, whose initializers are hidden too.
func (g *Graph) eachOwn(f func(*Tensor)) {
	for i := range g.Initializers {
		f(&g.Initializers[i])
	}
	g.eachHidden(f)
}
