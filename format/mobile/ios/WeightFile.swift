import Foundation
import Mobile

/// TensorInfo describes one tensor of a model. Two are equal when all they say is equal.
public struct TensorInfo: Hashable {
    public let name: String
    /// The type of the elements, "float32" for example.
    public let dtype: String
    /// The compression, "gzip" for example; empty for plain bytes.
    public let compression: String
    /// The dims, outermost first; empty for a scalar.
    public let shape: [Int64]
    public let count: Int64
    public let byteSize: Int64
    /// Where the data begins in the file, -1 when it is compressed or encrypted.
    public let fileOffset: Int64
    /// Whether a buffer is the memory of the file, not a copy.
    public let zeroCopy: Bool
    /// Whether the elements stand for other real numbers.
    public let quantized: Bool
}

/// WeightmapError is an error of the library. Its description names format, file, offset and field;
/// its code is for programs.
public struct WeightmapError: LocalizedError {
    /// Code is the kind of an error.
    public enum Code: String {
        /// The file has no known format.
        case unknownFormat = "unknown-format"
        /// The file does not have the format named in the options.
        case magic
        /// The version of the format is not supported.
        case version
        /// The file ends too early, or was truncated while in use.
        case truncated
        /// The file contradicts itself or its format.
        case corrupt
        /// A stored and a computed checksum differ.
        case checksum
        /// The file is unsigned, signed by another key, or was changed after signing.
        case signature
        /// The key is wrong, or the file is encrypted and there is none.
        case key
        /// A limit of the options or of the device was exceeded.
        case limit
        /// The file is valid, but uses what the library does not support.
        case unsupported
        /// The quantization parameters are invalid.
        case quantization
        /// The dtype of the tensor does not convert.
        case dtype
        /// A buffer is too small.
        case shape
        /// The model has no tensor of that name.
        case notFound = "not-found"
        /// The options are invalid.
        case option
        /// An index or offset is out of range.
        case index
        /// The model was closed.
        case closed
        /// A canceler or the progress protocol ended the call.
        case canceled
        /// The system reports an error: no such file, no permission.
        case file
        /// Any other error.
        case other
    }

    public let code: Code
    public let errorDescription: String?

    init(_ error: Error) {
        code = Code(rawValue: MobileErrorCode(error)) ?? .other
        errorDescription = error.localizedDescription
    }

    /// Runs a call of the generated classes, such as model.pin(), whose errors it converts.
    public static func call<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw WeightmapError(error)
        }
    }
}

/// WeightFile is an open model whose tensors are buffers. It is closed by close, or with its last
/// reference. All methods may be called from any thread, and throw WeightmapError.
///
/// Copy this file into the app. For everything else there is model.
public final class WeightFile {
    /// The generated class. Its methods throw NSError: see WeightmapError.call.
    public let model: MobileModel

    /// Takes ownership of a model.
    public init(_ model: MobileModel) {
        self.model = model
    }

    /// Maps the file at path.
    public convenience init(path: String, options: MobileOptions? = nil) throws {
        var error: NSError?
        guard let model = MobileOpen(path, options, &error) else {
            throw WeightmapError(error!)
        }
        self.init(model)
    }

    deinit {
        close()
    }

    /// Ends verifications, waits for calls that are reading, and frees the memory. A second call does
    /// nothing.
    public func close() {
        try? model.close()
    }

    /// Checks every checksum until canceler or progress ends it. It reads the whole file: call it off
    /// the main thread.
    @discardableResult
    public func verify(_ progress: MobileProgressProtocol? = nil, canceler: MobileCanceler? = nil) throws -> MobileReport {
        return try WeightmapError.call { try model.verify(progress, canceler: canceler) }
    }

    /// All tensors, in file order.
    public func tensors() -> [TensorInfo] {
        return WeightFile.read(model.tensorList() ?? Data())
    }

    /// Passes the elements of a tensor to body, row-major and little-endian, as a read-only buffer over
    /// the file's memory, which is valid until body returns. Compressed or misaligned data is copied,
    /// once, into memory that is kept until close. A close meanwhile frees the memory after body.
    public func withBytes<Result>(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
        let pin = try WeightmapError.call { try model.pin() }
        defer { pin.unpin() }
        let tensor = try WeightmapError.call { try model.tensorNamed(name) }
        var address: Int64 = 0
        try WeightmapError.call { try tensor.address(&address) }
        return try body(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: Int(address)), count: Int(tensor.byteSize())))
    }

    /// Like withBytes, for real numbers. Tensors of other dtypes than float32, and quantized tensors, are
    /// converted into a copy.
    public func withFloats<Result>(_ name: String, _ body: (UnsafeBufferPointer<Float>) throws -> Result) throws -> Result {
        let tensor = try WeightmapError.call { try model.tensorNamed(name) }
        if tensor.dType() == "float32" && !tensor.quantized() {
            return try withBytes(name) { try body($0.bindMemory(to: Float.self)) }
        }
        let copy = try WeightmapError.call { try tensor.float32Bytes() }
        return try copy.withUnsafeBytes { try body($0.bindMemory(to: Float.self)) }
    }

    /// Decodes MobileModel.tensorList.
    private static func read(_ list: Data) -> [TensorInfo] {
        var at = list.startIndex
        func number() -> Int64 {
            defer { at += 8 }
            return list[at..<at + 8].reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        func text() -> String {
            let count = Int(number())
            defer { at += count }
            return String(decoding: list[at..<at + count], as: UTF8.self)
        }
        var all: [TensorInfo] = []
        while at < list.endIndex {
            let name = text(), dtype = text(), compression = text()
            let shape = (0..<number()).map { _ in number() }
            let count = number(), byteSize = number(), fileOffset = number(), flags = number()
            all.append(TensorInfo(name: name, dtype: dtype, compression: compression, shape: shape, count: count,
                                  byteSize: byteSize, fileOffset: fileOffset, zeroCopy: flags & 1 != 0, quantized: flags & 2 != 0))
        }
        return all
    }
}
