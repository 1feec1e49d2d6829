// Package signing signs models of any format, and verifies them, by OpenSSF Model
// Signing 1.0: a detached bundle over the digests of all files of a model.
//
//	trust, err := signing.ParseTrust(pem) // public keys, root certificates
//	b, err := signing.Read("model/model.sig")
//	report, err := signing.Verify(ctx, b, "model", trust, nil)
//
//	b, err := signing.Sign(ctx, "model", signing.Signer{Key: key}, &signing.Options{Bundle: "model/model.sig"})
//	err = os.WriteFile("model/model.sig", b.Bytes(), 0o666)
//
// A Policy makes a signature a condition of opening: as format.Options.Trusted it
// refuses every model that is not as signed, also at each reload of package live.
//
// # The bundle
//
// A bundle is one JSON object, a Sigstore bundle. Base64 is that of RFC 4648 with padding.
//
//	{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
//	 "verificationMaterial": {
//	   "publicKey": {"hint": "<SHA-256 of the PEM public key, hex>"},        method key
//	   "x509CertificateChain": {"certificates": [{"rawBytes": "<DER>"}]},    method certificate, leaf first
//	   "certificate": {"rawBytes": "<DER>"},                                 method sigstore
//	   "tlogEntries": [...],                                                 required of method sigstore
//	   "timestampVerificationData": {"rfc3161Timestamps": [{"signedTimestamp": "<DER>"}]}},
//	 "dsseEnvelope": {
//	   "payload": "<the statement>",
//	   "payloadType": "application/vnd.in-toto+json",
//	   "signatures": [{"sig": "<DER>", "keyid": ""}]}}
//
// There is exactly one of publicKey, x509CertificateChain and certificate, and exactly one
// signature; keyid means nothing. Bundles of v0.3.1 to v1.0 of the reference implementation
// have "rawBytes" (Base64 of the PEM text) and "keyDetails" in place of "hint".
//
// The statement is JSON as well, and its bytes are what is signed:
//
//	{"_type": "https://in-toto.io/Statement/v1",
//	 "subject": [{"name": "<base name of the model>", "digest": {"sha256": "<root digest>"}}],
//	 "predicateType": "https://model_signing/signature/v1.0",
//	 "predicate": {
//	   "resources": [{"name": "sub/weights.bin", "digest": "<hex>", "algorithm": "sha256"}, ...],
//	   "serialization": {"method": "files", "hash_type": "sha256", "allow_symlinks": false,
//	                     "ignore_paths": [".git", ".gitattributes", ".github", ".gitignore"]}}}
//
// # What is signed
//
// The signature is one of ECDSA, in ASN.1, over the pre-authentication encoding of DSSE.
// Lengths are decimal numbers of bytes, and single spaces separate the parts:
//
//	DSSEv1 28 application/vnd.in-toto+json LENGTH STATEMENT
//
// The curve chooses the hash: SHA-256 for P-256, SHA-384 for P-384, SHA-512 for P-521.
//
// # Digests
//
// The digest of a resource is the SHA-256 of the file. With the method "shards", and a
// "shard_size" next to it, each resource is a range of a file: "weights.bin:0:1000000000" are
// the bytes from 0 up to 1000000000. The ranges of a file begin at 0 and follow each other;
// all have shard_size bytes, but the last may have fewer. Empty files have no ranges, so a
// signature of shards says nothing of them.
//
// The root digest is the SHA-256 of the digests of all resources, 32 bytes each, in the
// order of the list.
//
// # Which files
//
// All regular files below the root, each by its path below the root, with slashes, sorted by
// bytes. Of a model that is one file the path is its base name; the reference implementation
// writes "." there. Left out are .git, .gitattributes, .github and .gitignore of the root,
// what ignore_paths names (a file, or a directory and all in it, by its exact path), what
// Options.Ignore names likewise, and the bundle itself. Names are UTF-8.
//
// A symbolic link below the root is an error, unless allow_symlinks is true: then the file
// that it leads to counts under the name of the link. Links that leave the root, and
// those that lead back to a directory above them, are errors in any case. What else is neither
// file nor directory is an error. The root itself may be a link.
//
// Verification fails with the name of the file when a file is listed and not there, is
// there and not listed, or differs. Options.AllowUnsigned permits files that are not listed.
//
// # What else is refused
//
//   - JSON with duplicate keys, text behind the object, invalid UTF-8, or more than 32 levels;
//     bundles of more than 64 MiB.
//   - Names that are absolute, empty, not clean, or have a ".." in them, and names that occur twice.
//   - Other hashes than SHA-256, other keys than the three, other media types: ErrUnsupported.
//   - A root digest that is not that of the resources.
//   - A key whose fingerprint is not the hint: SHA-256 of its PEM or DER form, in hex or Base64.
//
// The resources need not be sorted: older signers sort by the components of the paths.
// Unknown fields are ignored.
//
// # Certificates
//
// The chain must lead to one of Trust.Roots. All certificates must be valid now, or at
// the time of a timestamp by an authority of Trust.Timestamps. The leaf must be for code
// signing and, if it limits the use of its key, for digital signatures.
//
// # Version 0.2
//
// Bundles of the predicate "https://model_signing/Digests/v0.1" list the files as subjects,
// with their SHA-256, and have no serialization. What they signed is not the encoding of
// DSSE: it begins with "DSSEV1", and the statement in it is a Python bytes literal (b'...').
// The hash is SHA-256 for all curves, or as above. They are verified, never written.
package signing
