package wia

// The most bytes to which compressed sections may inflate, whatever their stored size.
const (
	maxMetadata = 64 << 20
	maxGraph    = 1 << 30
)

// maxInflated has the maximum by block, 0 for blocks that are never compressed.
var maxInflated = [numBlocks]int64{metadataBlock: maxMetadata, graphBlock: maxGraph}
