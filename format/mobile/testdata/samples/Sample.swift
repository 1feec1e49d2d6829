import Foundation
import Mobile

func use(run: (UnsafeBufferPointer<Float>) -> Void, download: () -> Void) throws {
    do {
        let model = try WeightFile(path: Bundle.main.path(forResource: "model", ofType: "mobi")!)
        defer { model.close() }
        try model.verify() // reads the whole file: not on the main thread
        try model.withFloats("7", run) // dead when run returns
    } catch {
        switch MobileErrorCode(error) {
        case MobileCodeChecksum, MobileCodeTruncated: download()
        default: throw error
        }
    }
}
