import Foundation
import Mobile

/// TensorInfo describes one tensor of a model. It is a value: equal to any that says the same.
public struct TensorInfo: Hashable {
    public let name: String
    /// The type of the elements, "float32" for example.
    public let dtype: String
    /// How the bytes are stored, "gzip" for example; empty when they are stored as they are.
    public let compression: String
    /// The dims, outermost first, none for a scalar.
    public let shape: [Int64]
    public let count: Int64
    public let byteSize: Int64
    /// Where the data begins in the file, -1 when it is not there as such.
    public let fileOffset: Int64
    /// Address is in the file's own memory.
    public let zeroCopy: Bool
    /// The elements stand for other real numbers.
    public let quantized: Bool
}

/// WeightFile is an open model whose tensors are buffers. It is closed by close, or when nothing
/// refers to it any more. It may be used from any thread. What it throws is told apart by
/// MobileErrorCode.
///
/// Copy this file into the app. Whatever it lacks, model has.
public final class WeightFile {
    public let model: MobileModel

    /// Takes a model over, and closes it.
    public init(_ model: MobileModel) {
        self.model = model
    }

    /// Maps the file at path.
    public convenience init(path: String, options: MobileOptions? = nil) throws {
        var error: NSError?
        guard let model = MobileOpen(path, options, &error) else {
            throw error!
        }
        self.init(model)
    }

    deinit {
        close()
    }

    /// Waits for calls that are reading, and ends all buffers. A second call does nothing.
    public func close() {
        try? model.close()
    }

    /// Checks every checksum. It reads the whole file: call it off the main thread.
    @discardableResult
    public func verify() throws -> MobileReport {
        return try model.verify(nil)
    }

    /// All tensors, in file order.
    public func tensors() -> [TensorInfo] {
        return WeightFile.read(model.tensorList() ?? Data())
    }

    /// Hands the elements of a tensor as they are, row-major and little-endian, to body: the file's
    /// own memory. Nothing is copied unless the data is compressed or misaligned; such a copy is made
    /// once. The buffer is read-only, and dead when body returns.
    public func withBytes<Result>(_ name: String, _ body: (UnsafeRawBufferPointer) throws -> Result) throws -> Result {
        let tensor = try model.tensorNamed(name)
        var address: Int64 = 0
        try tensor.address(&address)
        defer { withExtendedLifetime(self) {} } // deinit waits
        return try body(UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: Int(address)), count: Int(tensor.byteSize())))
    }

    /// Hands the elements of a tensor as real numbers to body. They are the file's own memory, as with
    /// withBytes, where they are stored as float32; other dtypes, and quantized tensors, are converted
    /// into memory that body borrows.
    public func withFloats<Result>(_ name: String, _ body: (UnsafeBufferPointer<Float>) throws -> Result) throws -> Result {
        let tensor = try model.tensorNamed(name)
        if tensor.dType() == "float32" && !tensor.quantized() {
            return try withBytes(name) { try body($0.bindMemory(to: Float.self)) }
        }
        let copy = try tensor.float32Bytes()
        return try copy.withUnsafeBytes { try body($0.bindMemory(to: Float.self)) }
    }

    /// Reads what MobileModel.tensorList returns.
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
