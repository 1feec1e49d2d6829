package digits

import "math"

// Predict returns the probability of each digit for m. It computes the whole network; package
// examples/train/net does the same with an engine.
func (w *Weights) Predict(m *Image) (p Probabilities) {
	x := m.Floats(make([]float32, 0, Pixels))
	x = convolve(x, w.Conv1, 1, Size)
	x = convolve(x, w.Conv2, Channels1, Size/2)
	x = dense(x, w.Dense1)
	for i := range x {
		x[i] = max(x[i], 0)
	}
	softmax(p[:], dense(x, w.Dense2))
	return p
}

// convolve returns a 3 by 3 convolution with zero padding, followed by ReLU and 2 by 2 max pooling,
// of square images, one per channel.
func convolve(x []float32, l Layer, channels, side int) []float32 {
	out := make([]float32, 0, len(l.Bias)*side*side/4)
	for o, bias := range l.Bias {
		kernels := l.Weight[o*channels*9:][:channels*9]
		for top := 0; top < side; top += 2 {
			for left := 0; left < side; left += 2 {
				best := float32(0) // ReLU: the maximum is at least 0
				for i := range 4 {
					best = max(best, bias+at(x, kernels, side, top+i/2, left+i%2))
				}
				out = append(out, best)
			}
		}
	}
	return out
}

// at returns the value of a convolution at one pixel, summed over the channels.
func at(x, kernels []float32, side, row, column int) (sum float32) {
	for i, weight := range kernels {
		c := i / 9
		y := row + i%9/3 - 1
		z := column + i%3 - 1
		if y >= 0 && y < side && z >= 0 && z < side {
			sum += weight * x[(c*side+y)*side+z]
		}
	}
	return sum
}

// dense returns the product of x with a matrix that has a row per output.
func dense(x []float32, l Layer) []float32 {
	out := make([]float32, len(l.Bias))
	for o, bias := range l.Bias {
		sum := bias
		for i, weight := range l.Weight[o*len(x):][:len(x)] {
			sum += weight * x[i]
		}
		out[o] = sum
	}
	return out
}

// softmax sets p to the softmax of logits.
func softmax(p, logits []float32) {
	most := float64(logits[0])
	sum := 0.0
	for _, x := range logits {
		most = max(most, float64(x))
	}
	for _, x := range logits {
		sum += math.Exp(float64(x) - most)
	}
	for i, x := range logits {
		p[i] = float32(math.Exp(float64(x)-most) / sum)
	}
}
