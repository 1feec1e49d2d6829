// Package signing signs and verifies models of any format, according to OpenSSF Model
// Signing 1.0: a detached bundle signs the digests of all files of a model.
//
//	trust, err := signing.ParseTrust(pem) // public keys, root certificates
//	b, err := signing.Read("model/model.sig")
//	report, err := signing.Verify(ctx, b, "model", trust, nil)
//
//	b, err := signing.Sign(ctx, "model", signing.Signer{Key: key}, &signing.Options{Bundle: "model/model.sig"})
//	err = os.WriteFile("model/model.sig", b.Bytes(), 0o666)
//
// Set format.Options.Trusted to a Policy to open only models with a valid signature.
// Package live then checks the signature at each reload, too.
//
// # The bundle
//
// A bundle is a Sigstore bundle, one JSON object. Base64 is the standard encoding of RFC 4648
// with padding.
//
//	{"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
//	 "verificationMaterial": {
//	   "publicKey": {"hint": "<SHA-256 of the PEM public key, hex>"},        method key
//	   "x509CertificateChain": {"certificates": [{"rawBytes": "<DER>"}]},    method certificate, leaf first
//	   "certificate": {"rawBytes": "<DER>"},                                 method sigstore
//	   "tlogEntries": [...]},                                                required of method sigstore
//	 "dsseEnvelope": {
//	   "payload": "<the statement>",
//	   "payloadType": "application/vnd.in-toto+json",
//	   "signatures": [{"sig": "<DER>", "keyid": ""}]}}
//
// A bundle has exactly one of publicKey, x509CertificateChain and certificate, and exactly
// one signature; keyid is ignored. Versions v0.3.1 to v1.0 of the reference implementation
// write "rawBytes" (Base64 of the PEM text) and "keyDetails" instead of "hint".
//
// The statement is JSON, too. The signature covers its bytes:
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
// The signature is an ECDSA signature in ASN.1 over the pre-authentication encoding of DSSE.
// Lengths are decimal byte counts; single spaces separate the parts:
//
//	DSSEv1 28 application/vnd.in-toto+json LENGTH STATEMENT
//
// The curve determines the hash: SHA-256 for P-256, SHA-384 for P-384, SHA-512 for P-521.
//
// # Digests
//
// The digest of a resource is the SHA-256 of the file. With the method "shards" and a
// "shard_size", each resource is a range of a file: "weights.bin:0:1000000000" is the
// half-open range of bytes from 0 to 1000000000. The ranges of a file begin at 0 and are
// contiguous. All have shard_size bytes, except that the last may be shorter. Empty files
// have no ranges, so a signature with shards does not cover them.
//
// The root digest is the SHA-256 of the concatenated digests of all resources, 32 bytes each,
// in the order of the list.
//
// # Which files
//
// A signature covers all regular files below the root. Each is named by its slash-separated
// path relative to the root, in UTF-8, and the list is sorted by bytes. If the model is a
// single file, its name is its base name; the reference implementation writes ".". These are
// left out: .git, .gitattributes, .github and .gitignore in the root; the paths in
// ignore_paths and in Options.Ignore (a file, or a directory with its contents); and the
// bundle itself.
//
// A symbolic link below the root is an error unless allow_symlinks is true: then the target
// counts as a file with the name of the link. A link out of the root, or to a directory that
// contains it, is always an error, and so is a file of any other type. The root itself may be
// a link.
//
// Verification fails with the name of a file if it is listed but missing, present but not
// listed, or different. Options.AllowUnsigned permits files that are not listed.
//
// # Other errors
//
//   - JSON with duplicate keys, data after the object, invalid UTF-8, or more than 32 levels;
//     bundles larger than 64 MiB.
//   - Names that are empty, absolute, not clean, contain "..", or occur twice.
//   - Hashes other than SHA-256, other curves, other media types: ErrUnsupported.
//   - A root digest that does not match the resources.
//   - A key whose fingerprint is not the hint: SHA-256 of its PEM or DER form, in hex or Base64.
//
// The resources need not be sorted, since older signers sort by path components.
// Unknown fields are ignored.
//
// # Certificates
//
// The chain must lead to one of Trust.Roots. All certificates must be valid now, or at
// Trust.Time: set it if a timestamp, which this package does not verify, proves when an expired
// certificate was used. The leaf must allow code signing and, if it has a key usage, digital
// signatures.
//
// # Version 0.2
//
// Bundles with the predicate "https://model_signing/Digests/v0.1" list the files as subjects
// with their SHA-256, and have no serialization. Their signature does not cover the encoding
// of DSSE: the signed text begins with "DSSEV1" and has the statement as a Python bytes
// literal (b'...'). The hash is SHA-256 for all curves, or as above. This package verifies
// such bundles but does not write them.
package signing
