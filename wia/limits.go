package wia

// A compressed section may inflate to a multiple of its stored size, to the floor in any case, and
// to a maximum at most.
const (
	maxMetadata = 64 << 20
	maxGraph    = 1 << 30

	inflationRatio = 256
	inflationFloor = 16 << 20
)

// maxInflated has the maximum by block, 0 for blocks that are never compressed.
var maxInflated = [numBlocks]int64{metadataBlock: maxMetadata, graphBlock: maxGraph}

// inflated returns to how many bytes a compressed section of a stored size may inflate.
func inflated(most, stored int64) int64 {
	return min(most, max(inflationRatio*min(stored, most), inflationFloor))
}
