// Package mobile is weightmap for phones: the package for gomobile bind. Go programs use
// package format instead. This package may change in any minor release.
//
// Its API is flat, because gobind binds little more than functions, strings, numbers and bytes.
// Numbers are int64 (Java long, Swift Int64). An invalid index, an empty object or a closed
// model is an error, or the zero value that the function documents; it never panics, since a panic
// would end the app.
//
// # Building
//
// gobind needs golang.org/x/mobile in the go.mod of the directory that it runs in:
//
//	go mod init app
//	go get github.com/weightmap/weightmap golang.org/x/mobile/bind
//	go install golang.org/x/mobile/cmd/gomobile@latest golang.org/x/mobile/cmd/gobind@latest
//	gomobile bind -target=android -androidapi=21 -javapkg=io.github.weightmap -ldflags=-extldflags=-Wl,-z,max-page-size=16384 github.com/weightmap/weightmap/format/mobile
//	gomobile bind -target=ios github.com/weightmap/weightmap/format/mobile
//
// The first makes mobile.aar with the Java package io.github.weightmap.mobile, which the sources
// below import; the second makes Mobile.xcframework.
//
// To link fewer formats, name those that the app needs with build tags: weightmap_ and mobi, mag,
// tsr, mle, wia, safetensors, gguf, npy or onnx. Only mle and wia have signatures: without them
// VerifySigned always fails. On Android 9 and later the library can be smaller still, with packed
// relocations and without symbols:
//
//	gomobile bind -target=android -androidapi=28 -javapkg=io.github.weightmap -tags weightmap_mobi,weightmap_mag -ldflags="-s -w -extldflags=-Wl,-z,max-page-size=16384,-z,pack-relative-relocs" github.com/weightmap/weightmap/format/mobile
//
// # Pages of 16 KB
//
// Some devices with Android 15 and later have memory pages of 16 KB. They load only libraries whose
// segments are aligned to 16 KB, and Google Play requires that alignment of apps that target
// Android 15. NDK r28 and later align so by default. With an NDK before r28, which aligns to 4 KB,
// the library needs max-page-size=16384, as in the commands above; with later NDKs the flag changes
// nothing. To check the libraries for 64-bit devices in mobile.aar, use llvm-readelf from the NDK's
// toolchain:
//
//	unzip -o mobile.aar 'jni/*64*/*'
//	llvm-readelf -lW jni/*/libgojni.so | grep LOAD
//
// Every line must end in 0x4000 or more. In an .apk the libraries are in lib instead of jni.
//
// # Sources for Java, Kotlin and Swift
//
// These files use the generated classes and make them pleasant. Copy them into the app:
//
//	android/io/github/weightmap/WeightFile.java          a model: Closeable, with weights as buffers
//	android/io/github/weightmap/WeightmapException.java  an exception with an enum of error codes
//	android/io/github/weightmap/TensorInfo.java          the description of a tensor
//	ios/WeightFile.swift                                 all three for Swift
//
// In the samples below, run and download are methods of the app.
//
// # Android
//
// openAsset maps an asset inside the app's package, without extracting it. The asset must be stored
// uncompressed: androidResources { noCompress += "mobi" }. Packagers align assets to 4 bytes, so
// tensors with elements of 8 bytes may be copied.
//
// In Kotlin:
//
//	private val canceler = Canceler()
//
//	fun cancel() = canceler.cancel() // from any thread
//
//	fun use(assets: AssetManager) {
//	    try {
//	        WeightFile.openAsset(assets, "model.mobi").use { model ->
//	            model.verify(null, canceler) // reads the whole file: not on the main thread
//	            model.withFloats("fc.weight") { values -> run(values) } // valid in the block only
//	        }
//	    } catch (e: WeightmapException) {
//	        when (e.code) {
//	            Code.CHECKSUM, Code.TRUNCATED -> download()
//	            Code.CANCELED -> return
//	            else -> throw e
//	        }
//	    }
//	}
//
// In Java:
//
//	private final Canceler canceler = new Canceler();
//
//	public final void cancel() { // from any thread
//		canceler.cancel();
//	}
//
//	public final void use(AssetManager assets) throws IOException {
//		try (WeightFile model = WeightFile.openAsset(assets, "model.mobi")) {
//			model.verify(null, canceler); // reads the whole file: not on the main thread
//			model.withFloats("fc.weight", values -> run(values)); // valid in the block only
//		} catch (WeightmapException e) {
//			switch (e.code) {
//			case CHECKSUM:
//			case TRUNCATED:
//				download();
//				break;
//			case CANCELED:
//				break;
//			default:
//				throw e;
//			}
//		}
//	}
//
// withFloats and withBytes pass read-only, little-endian buffers. Set the byte order of buffers
// that you derive from them: asReadOnlyBuffer and duplicate reset it to big-endian.
//
// CopyTo, CopyRangeTo and CopyFloat32To fill a byte[] of the app, which the Java runtime may copy
// in and out once more. A byte[] that a method returns is a copy.
//
// # iOS, in Swift
//
//	let canceler = MobileCanceler()! // canceler.cancel() from any thread
//
//	func use(run: (UnsafeBufferPointer<Float>) -> Void, download: () -> Void) throws {
//	    do {
//	        let model = try WeightFile(path: Bundle.main.path(forResource: "model", ofType: "mobi")!)
//	        defer { model.close() }
//	        try model.verify(canceler: canceler) // reads the whole file: not on the main thread
//	        try model.withFloats("fc.weight", run) // valid until run returns
//	    } catch let error as WeightmapError {
//	        switch error.code {
//	        case .checksum, .truncated: download()
//	        case .canceled: return
//	        default: throw error
//	        }
//	    }
//	}
//
// Where an interface wants a mutable pointer, pass UnsafeMutableRawPointer(mutating:
// buffer.baseAddress), and do not write there. Use Bytes and Float32Bytes, which return Data: the
// Copy methods need an NSMutableData, which Swift's Data does not pass on. GraphJSON and
// MetadataJSON return a text that is never nil, so Swift does not turn their error into an
// exception but has it as a parameter: model.metadataJSON(&error). The protocol for progress is
// MobileProgressProtocol.
//
// # Lifetime
//
//  1. A model owns the mapping of its file. Close it: the garbage collectors of Java and Go, and
//     Swift's reference counts, do not see its size.
//  2. Methods return copies, which outlive the model. Only Address, and the buffers of WeightFile, refer
//     to the model's memory.
//  3. A buffer of withBytes or withFloats is valid until the block ends, even if another thread, or
//     the block itself, closes the model meanwhile. A Pin does the same for Address.
//  4. Other addresses, and the buffers that WeightFile.bytes returns in Java, are valid until Close.
//     An app that reads them later crashes.
//  5. Close ends verifications and waits for calls that are reading, in any thread. After Close,
//     calls for data fail with CodeClosed; names, shapes and dtypes remain readable.
//
// # Memory
//
// Weights are mapped: the system loads and drops their pages as needed, and does not count them
// against the app. What the library allocates, such as decompressed tensors, is limited to
// DefaultMaxMemory, 256 MiB for each model, unless Options.MaxMemory sets another limit; more fails
// with CodeLimit. iOS does not document its limit; os_proc_available_memory returns what is left of
// it.
//
// # Names
//
// A tensor has the name that the file gives it. MOBI numbers its tensors and has no field for
// names, but weightmap convert stores the names of the source beside the numbers, and this package
// uses them everywhere: TensorName, TensorNamed, GraphJSON, Report, Progress. A tensor of a MOBI
// file without stored names is named by its number in decimal, such as "7". The text of errors has
// the number.
//
// # Objects
//
// Each call for a model or tensor returns a new object. Objects are the same model or tensor when
// their Keys are equal: the generated equals and hashCode in Java compare them, and in Swift the
// app does.
//
// # Verification
//
// Verify fails when a checksum is wrong or data is missing. Files need not have checksums for
// everything. The Report that Verify returns says what no checksum covers, as a line for people
// ("ok, but nothing covers the data of 15 tensors"; toString in Java), as a whole (Covered) and by
// tensor (ChecksumOf, Uncovered). VerifySigned demands a signature by a key that the app trusts. It
// reads the file when it is called: call it before the model is used, and keep the file where no
// other app can write, since a file that is changed afterwards is not compared again. Go programs
// set Options.Trusted of package format instead (format.TrustKey, or signing.Policy for a bundle),
// which compares every file before anything of it is used; these options are not bound.
//
// A Canceler ends a verification from any thread, and so does Close, which then need not wait for
// the rest of the file. Progress ends it by returning false.
//
// # Errors
//
// WeightFile throws WeightmapException in Java and Kotlin and WeightmapError in Swift, with a code
// for each kind of error. The generated classes throw Exception and NSError; ErrorCode returns the
// code of these as a text, and WeightmapException.call and WeightmapError.call convert them.
// Compare codes: the texts may change in any release. An exception that the app's Progress throws
// ends the app.
package mobile
