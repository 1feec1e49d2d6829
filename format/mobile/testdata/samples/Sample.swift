import Foundation
import Mobile

let canceler = MobileCanceler()! // canceler.cancel() from any thread

func use(run: (UnsafeBufferPointer<Float>) -> Void, download: () -> Void) throws {
    do {
        let model = try WeightFile(path: Bundle.main.path(forResource: "model", ofType: "mobi")!)
        defer { model.close() }
        try model.verify(canceler: canceler) // reads the whole file: not on the main thread
        try model.withFloats("fc.weight", run) // valid until run returns
    } catch let error as WeightmapError {
        switch error.code {
        case .checksum, .truncated: download()
        case .canceled: return
        default: throw error
        }
    }
}
