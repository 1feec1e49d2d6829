// Package mobile is weightmap for phones: the package that gomobile bind
// takes, over every format. In Go itself, package format is the better choice.
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
// The samples below are lines of the files in testdata/samples, which tests compile
// and run; run and download stand for the app's own methods.
//
// # Android
//
// An asset is opened where it is in the package, by descriptor, and mapped. It
// must be stored uncompressed (androidResources { noCompress += "mobi" }), or
// there is no descriptor. Packagers align assets to 4 bytes: tensors with elements
// of 8 bytes may turn out not to be ZeroCopy there.
//
// A byte[] that is passed in is filled by CopyTo, CopyRangeTo and CopyFloat32To; the
// Java runtime may copy it in and out again on the way. A byte[] that is returned
// is always a copy. For large tensors Address is the way that copies nothing.
//
// Only native code can make a buffer of an address, so an app that wants one
// adds a function of its own:
//
//	JNIEXPORT jobject JNICALL
//	Java_com_example_Native_wrap(JNIEnv *env, jclass c, jlong address, jlong size) {
//		return (*env)->NewDirectByteBuffer(env, (void *)(intptr_t)address, size);
//	}
//
// Without native code the file can be mapped once more, by Java: FileOffset
// says where (added to the asset's startOffset), when it is not -1.
//
// A direct buffer is big-endian at first and after asReadOnlyBuffer, whatever it
// was before: set its order last.
//
// In Kotlin it is declared by
//
//	object Native {
//	    init { System.loadLibrary("wrap") } // libwrap.so, the app's own
//
//	    @JvmStatic external fun wrap(address: Long, size: Long): ByteBuffer
//	}
//
// and used by
//
//	fun use(assets: AssetManager) {
//	    try {
//	        read(assets)
//	    } catch (e: Exception) {
//	        if (Mobile.errorCode(e) == Mobile.CodeChecksum) download() else throw e
//	    }
//	}
//
//	private fun read(assets: AssetManager) {
//	    val model = assets.openFd("model.mobi").use { asset ->
//	        Mobile.openDescriptor(asset.parcelFileDescriptor.fd, asset.startOffset, asset.length, null)
//	    } // the descriptor may be closed: the mapping stays
//	    try {
//	        model.verify(null) // reads the whole file: not on the main thread
//	        val w = model.tensorNamed("7")
//	        val bytes = Native.wrap(w.address(), w.byteSize()).asReadOnlyBuffer()
//	        run(bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()) // asReadOnlyBuffer forgets the order
//	    } finally {
//	        model.close() // the buffers are dead from here on
//	    }
//	}
//
// In Java it is declared by
//
//	public final class Native {
//		static { System.loadLibrary("wrap"); } // libwrap.so, the app's own
//
//		public static native ByteBuffer wrap(long address, long size);
//	}
//
// and used by
//
//	public final void use(AssetManager assets) throws Exception {
//		try {
//			read(assets);
//		} catch (Exception e) {
//			if (!Mobile.errorCode(e).equals(Mobile.CodeChecksum)) {
//				throw e;
//			}
//			download();
//		}
//	}
//
//	private void read(AssetManager assets) throws Exception {
//		Model model;
//		try (AssetFileDescriptor asset = assets.openFd("model.mobi")) {
//			model = Mobile.openDescriptor(asset.getParcelFileDescriptor().getFd(),
//				asset.getStartOffset(), asset.getLength(), null);
//		} // the descriptor may be closed: the mapping stays
//		try {
//			model.verify(null); // reads the whole file: not on the main thread
//			Tensor w = model.tensorNamed("7");
//			ByteBuffer bytes = Native.wrap(w.address(), w.byteSize()).asReadOnlyBuffer();
//			run(bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()); // asReadOnlyBuffer forgets the order
//		} finally {
//			model.close(); // the buffers are dead from here on
//		}
//	}
//
// # iOS, in Swift
//
//	func use(run: (UnsafeBufferPointer<Float>) -> Void) throws {
//	    var error: NSError?
//	    guard let model = MobileOpen(Bundle.main.path(forResource: "model", ofType: "mobi"), nil, &error) else {
//	        throw error!
//	    }
//	    defer { try? model.close() }
//	    try model.verify(nil) // reads the whole file: not on the main thread
//	    let w = try model.tensorNamed("7")
//	    var address: Int64 = 0
//	    try w.address(&address)
//	    if let start = UnsafeRawPointer(bitPattern: Int(address)) { // nil for a tensor of no bytes
//	        let values = start.assumingMemoryBound(to: Float.self)
//	        run(UnsafeBufferPointer(start: values, count: Int(w.len()))) // before close
//	    }
//	}
//
// An interface that wants a mutable pointer gets
// UnsafeMutableRawPointer(bitPattern: Int(address)), and must not write there.
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
//     buffers over addresses: end their use first.
//  5. After Close, asking for data is an error with the code "closed"; names, shapes
//     and dtypes can still be read.
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
// offset and field; ErrorCode gives a word for programs. Exceptions thrown by
// the app's Progress end the app.
package mobile
