package wia

import (
	"github.com/weightmap/weightmap/internal/corpus"
)

// small returns a container with a bit of everything except external data.
func small() container {
	return container{
		meta: []byte(`{"model_info": {"name":"m"}, "x": 7}`),
		graph: cat(
			st(1, "main"),
			by(2, st(1, "n0"), st(2, "Conv"), st(3, "in"), st(3, "w"), st(3, ""), st(4, "y"),
				by(5, st(1, "strides"), vi(8, 2), vi(8, -1), vi(20, 7)),
				by(5, st(1, "alpha"), fl(2, 0.5), vi(20, 1)),
				by(5, st(1, "k"), by(5, inline("", 1, floats(3), 1)), vi(20, 4))),
			by(3, st(1, "in"), by(2, by(1, vi(1, 1), by(2, by(1, st(2, "batch")), by(1, vi(1, 3)), by(1))))),
			by(4, st(1, "y")),
			by(5, decl("w", 1, 2, 2)),
		),
		tensor: cat(
			by(15, make([]byte, 3)),
			by(1, inline("w", 1, floats(1, 2, 3, 4), 2, 2)),
			by(2, by(1, decl("z", 7, 4)), vi(2, 1), by(3, corpus.Gzip([]byte{1, 2, 3, 255})), vi(4, 4)),
			by(1, inline("q", 7, []byte{1, 2, 253}, 3), by(6, st(1, "doc"), by(2, st(1, "k"), st(2, "v")), by(3, vi(1, 1), fl(2, 0.5), vi(3, 1)))),
		),
	}
}
