package signing

// CheckFiles is the check that a Policy runs after the files of a model are parsed.
var CheckFiles = (*Policy).checkFiles
