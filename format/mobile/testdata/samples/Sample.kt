package com.example

import android.content.res.AssetManager
import java.nio.ByteBuffer
import java.nio.ByteOrder
import java.nio.FloatBuffer
import mobile.Mobile

object Native {
    init { System.loadLibrary("wrap") } // libwrap.so, the app's own

    @JvmStatic external fun wrap(address: Long, size: Long): ByteBuffer
}

/** Sample hands weights of a model among the app's assets to the app, without a copy. */
abstract class Sample {
    abstract fun run(values: FloatBuffer)

    abstract fun download()

    fun use(assets: AssetManager) {
        try {
            read(assets)
        } catch (e: Exception) {
            if (Mobile.errorCode(e) == Mobile.CodeChecksum) download() else throw e
        }
    }

    private fun read(assets: AssetManager) {
        val model = assets.openFd("model.mobi").use { asset ->
            Mobile.openDescriptor(asset.parcelFileDescriptor.fd, asset.startOffset, asset.length, null)
        } // the descriptor may be closed: the mapping stays
        try {
            model.verify(null) // reads the whole file: not on the main thread
            val w = model.tensorNamed("7")
            val bytes = Native.wrap(w.address(), w.byteSize()).asReadOnlyBuffer()
            run(bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer()) // asReadOnlyBuffer forgets the order
        } finally {
            model.close() // the buffers are dead from here on
        }
    }
}
