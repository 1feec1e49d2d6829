// Package mobile is weightmap for phones: the package that gomobile bind
// takes, over every format, or those that are asked for. In Go itself, package format
// is the better choice. This package may change in any minor release.
//
// Its API is flat, as gobind wants it. Numbers are int64 (Java long, Swift
// Int64), whatever the phone. Indices that do not exist, empty objects and
// closed models are errors or the zero values that each function documents,
// never a panic, since a panic in a binding ends the app.
//
// # Building
//
// gobind looks for its support files in golang.org/x/mobile, which the module
// that it runs in must therefore require:
//
//	go mod init app
//	go get github.com/weightmap/weightmap golang.org/x/mobile/bind
//	go install golang.org/x/mobile/cmd/gomobile@latest golang.org/x/mobile/cmd/gobind@latest
//	gomobile bind -target=android -androidapi=21 github.com/weightmap/weightmap/format/mobile
//	gomobile bind -target=ios github.com/weightmap/weightmap/format/mobile
//
// The first makes mobile.aar with the Java package mobile, the second
// Mobile.xcframework.
//
// An app that knows which formats it meets names them, and links no other: a build tag
// for each of mobi, mag, tsr, mle, wia, safetensors, gguf, npy and onnx, as
//
//	gomobile bind -target=android -androidapi=21 -tags weightmap_mobi,weightmap_mag github.com/weightmap/weightmap/format/mobile
//
// Without mle and wia, which have signatures, nothing that reads keys is linked either;
// VerifySigned fails then. What phones since Android 9 understand, but the linker must be
// told to make, takes another tenth off the library, as symbols do that are left out:
//
//	gomobile bind -target=android -androidapi=28 -tags weightmap_mobi -ldflags="-s -w -extldflags=-Wl,-z,pack-relative-relocs" github.com/weightmap/weightmap/format/mobile
//
// # Classes to copy into the app
//
// gobind hands over strings, numbers and bytes. What is pleasant in Java, Kotlin and
// Swift is shipped as source, next to this package:
//
//	android/weightmap/WeightFile.java   a model to close by use {}, weights as buffers
//	android/weightmap/TensorInfo.java   a list of what tensors there are
//	ios/WeightFile.swift                both
//
// The samples below are lines of the files in testdata/samples. Tests compile and run
// them, and these classes, on a desktop JVM; Swift's are held to the generated header.
// run and download stand for the app's own methods.
//
// # Android
//
// An asset is opened where it is in the package, by descriptor, and mapped. It
// must be stored uncompressed (androidResources { noCompress += "mobi" }), or
// there is no descriptor. Packagers align assets to 4 bytes: tensors with elements
// of 8 bytes may turn out not to be ZeroCopy there.
//
// In Kotlin:
//
//	fun use(assets: AssetManager) {
//	    try {
//	        WeightFile.openAsset(assets, "model.mobi").use { model ->
//	            model.verify() // reads the whole file: not on the main thread
//	            run(model.floats("7")) // dead when the model is closed
//	        }
//	    } catch (e: Exception) {
//	        when (Mobile.errorCode(e)) {
//	            Mobile.CodeChecksum, Mobile.CodeTruncated -> download()
//	            else -> throw e
//	        }
//	    }
//	}
//
// In Java:
//
//	public final void use(AssetManager assets) throws Exception {
//		try (WeightFile model = WeightFile.openAsset(assets, "model.mobi")) {
//			model.verify(); // reads the whole file: not on the main thread
//			run(model.floats("7")); // dead when the model is closed
//		} catch (Exception e) {
//			switch (Mobile.errorCode(e)) {
//			case Mobile.CodeChecksum:
//			case Mobile.CodeTruncated:
//				download();
//				break;
//			default:
//				throw e;
//			}
//		}
//	}
//
// WeightFile makes direct buffers of addresses, by a function in C that is part of the
// library that gomobile builds: read-only and little-endian. (Whoever makes others of
// them: a direct buffer is big-endian at first and after asReadOnlyBuffer, whatever it
// was before.)
//
// A byte[] that is passed in is filled by CopyTo, CopyRangeTo and CopyFloat32To; the
// Java runtime may copy it in and out again on the way. A byte[] that is returned
// is always a copy.
//
// # iOS, in Swift
//
//	func use(run: (UnsafeBufferPointer<Float>) -> Void, download: () -> Void) throws {
//	    do {
//	        let model = try WeightFile(path: Bundle.main.path(forResource: "model", ofType: "mobi")!)
//	        defer { model.close() }
//	        try model.verify() // reads the whole file: not on the main thread
//	        try model.withFloats("7", run) // dead when run returns
//	    } catch {
//	        switch MobileErrorCode(error) {
//	        case MobileCodeChecksum, MobileCodeTruncated: download()
//	        default: throw error
//	        }
//	    }
//	}
//
// An interface that wants a mutable pointer gets
// UnsafeMutableRawPointer(mutating: buffer.baseAddress), and must not write there.
// From Swift use Bytes and Float32Bytes, which return Data, rather than the Copy functions:
// those need an NSMutableData, which does not survive the way through Data.
// GraphJSON and MetadataJSON return a text that is never nil, so that Swift shows
// their error as a parameter: model.metadataJSON(&error). The protocol to
// implement for progress is MobileProgressProtocol.
//
// # Lifetime
//
//  1. A model owns the mapping of its file. Close it: neither Java's nor Swift's
//     garbage collection knows how large it is.
//  2. Everything but Address returns copies, which outlive the model.
//  3. What Address returns is valid until Close, and read-only. From the first
//     Address on, the memory is held until Close even when no object of the model is
//     reachable any more.
//  4. Close waits for calls that are reading, on whatever thread. It cannot know of
//     buffers over addresses, WeightFile's in Java among them: end their use first.
//  5. After Close, asking for data is an error with the code "closed"; names, shapes
//     and dtypes can still be read.
//
// # Objects
//
// The binding makes a new object each time a model or tensor is asked for. They are
// told apart by their Key, which is what the generated equals and hashCode compare in
// Java; in Swift compare the keys. A TensorInfo is a value.
//
// # Verification
//
// Verify fails when a checksum is wrong or data is missing. Not every file carries
// checksums of everything: the Report that Verify returns says what is left in
// doubt, in a line for people ("ok, but nothing covers the data of 15 tensors"; in
// Java toString), as a whole (Covered), and by tensor (ChecksumOf, Uncovered).
// VerifySigned demands a signature by a key that the app trusts.
//
// # Errors
//
// Errors arrive as exceptions, or NSError. Their text names format, file,
// offset and field; ErrorCode gives a word for programs, which Java and Swift switch on,
// and Kotlin's when: in Java == compares objects, not words. Exceptions thrown by
// the app's Progress end the app.
package mobile
