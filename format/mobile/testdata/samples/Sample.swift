import Foundation
import Mobile

func use(run: (UnsafeBufferPointer<Float>) -> Void) throws {
    var error: NSError?
    guard let model = MobileOpen(Bundle.main.path(forResource: "model", ofType: "mobi"), nil, &error) else {
        throw error!
    }
    defer { try? model.close() }
    try model.verify(nil) // reads the whole file: not on the main thread
    let w = try model.tensorNamed("7")
    var address: Int64 = 0
    try w.address(&address)
    if let start = UnsafeRawPointer(bitPattern: Int(address)) { // nil for a tensor of no bytes
        let values = start.assumingMemoryBound(to: Float.self)
        run(UnsafeBufferPointer(start: values, count: Int(w.len()))) // before close
    }
}
