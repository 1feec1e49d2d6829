package wia

// A compressed section may inflate to a multiple of its stored size, to the floor in any case, and
// to a maximum at most.
const (
	maxMetadata = 64 << 20
	maxGraph    = 1 << 30

	inflationRatio = 256
	inflationFloor = 16 << 20
)

// metadataLimit returns to how many bytes a compressed metadata section of a stored size may inflate.
func metadataLimit(stored int64) int64 { return inflated(maxMetadata, stored) }

// graphLimit is metadataLimit for a graph.
func graphLimit(stored int64) int64 { return inflated(maxGraph, stored) }

func inflated(most, stored int64) int64 {
	if stored >= most/inflationRatio {
		return most
	}
	return min(most, max(inflationRatio*stored, inflationFloor))
}
