package signing

// CheckFiles is what a Policy does when the files of a model have been parsed.
var CheckFiles = (*Policy).checkFiles
