package contract

// FileOf returns a format's File for a model. own is what Codec.Own returns; its method File makes the File.
func FileOf[F, M any](own any, m M) (file F, ok bool) {
	maker, ok := own.(interface{ File(m M) F })
	if ok {
		file = maker.File(m)
	}
	return file, ok
}

// Opened returns from for the results of Codec.Open.
func Opened[F, M any](from func(M) (F, bool)) func(M, error) (F, error) {
	return func(m M, err error) (F, error) {
		file, _ := from(m)
		return file, err
	}
}
