package codec_test

import (
	"bytes"
	"io"
	"testing"

	peer "github.com/andybalholm/brotli"
	"github.com/weightmap/weightmap/internal/codec/brotli"
)

// FuzzBrotliPeer compares the Brotli decoder with another one: both must accept the same streams
// and return the same bytes.
func FuzzBrotliPeer(f *testing.F) {
	for _, src := range inputs() {
		for _, level := range []int{1, 6, 9} {
			if len(src) < 2000 || level == 1 {
				f.Add(mustCompress(f, brotli.Codec, src, level))
			}
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 1 << 20
		got, err := brotli.Codec.DecompressMax(in, limit)
		r := bytes.NewReader(in)
		z := peer.NewReader(r)
		want, peerErr := io.ReadAll(io.LimitReader(z, limit+1))
		if len(want) > limit {
			return
		}
		if peerErr == nil && r.Len() > 0 {
			peerErr = io.ErrNoProgress // it accepts trailing bytes
		}
		if (err == nil) != (peerErr == nil) {
			t.Fatalf("%v, the peer: %v", err, peerErr)
		}
		if err == nil && !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, the peer has %d others", len(got), len(want))
		}
	})
}
