package main

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"

	"github.com/weightmap/weightmap/examples/digits"
)

// course is the length of a training: the number of drawings, of epochs, and of held-out drawings
// for testing.
type course struct{ drawings, epochs, held int }

const (
	batch = 50
	rate  = 0.003 // initial learning rate; it decays to 0 along a cosine
)

// train trains on drawings and returns the weights, which are reproducible on one kind of machine.
// It reports the mean loss of each epoch.
func train(c course, report func(epoch int, loss float64)) (*digits.Weights, error) {
	engine, err := simplego.New("ops_sequential") // see package net
	if err != nil {
		return nil, err
	}
	defer engine.Finalize()
	step, err := graph.NewExec(engine, loss)
	if err != nil {
		return nil, err
	}
	defer step.Finalize()
	rng := rand.New(rand.NewPCG(3, 4))
	w, drawings := initial(rng), digits.Training(c.drawings)
	steps := c.drawings / batch * c.epochs
	var a adam
	for epoch := range c.epochs {
		rng.Shuffle(len(drawings), func(i, j int) { drawings[i], drawings[j] = drawings[j], drawings[i] })
		sum := 0.0
		for i := 0; i+batch <= len(drawings); i += batch {
			out, err := step.Exec(arguments(w, drawings[i:i+batch])...)
			if err != nil {
				return nil, err
			}
			sum += float64(tensors.ToScalar[float32](out[0]))
			if err := a.learn(w, out[1:], rate*(1+math.Cos(math.Pi*float64(a.steps)/float64(steps)))/2); err != nil {
				return nil, err
			}
		}
		report(epoch+1, sum/float64(len(drawings)/batch))
	}
	return w, nil
}

// initial returns the initial weights: normally distributed, scaled by the number of inputs.
func initial(rng *rand.Rand) *digits.Weights {
	w := &digits.Weights{}
	for info, values := range w.Parameters() {
		inputs := 1
		for _, d := range info.Shape[1:] {
			inputs *= int(d)
		}
		*values = make([]float32, inputs*int(info.Shape[0]))
		if len(info.Shape) == 1 {
			continue // biases begin at 0
		}
		for i := range *values {
			(*values)[i] = float32(rng.NormFloat64() * math.Sqrt(2/float64(inputs)))
		}
	}
	return w
}

// arguments returns the arguments of loss.
func arguments(w *digits.Weights, drawings []digits.Drawing) []any {
	var images, want []float32
	for _, d := range drawings {
		images = d.Image.Floats(images)
		var one [digits.Classes]float32
		one[d.Digit] = 1
		want = append(want, one[:]...)
	}
	args := []any{
		tensors.FromFlatDataAndDimensions(images, len(drawings), digits.Size, digits.Size, 1),
		tensors.FromFlatDataAndDimensions(want, len(drawings), digits.Classes),
	}
	for info, values := range w.Parameters() {
		var dims []int
		for _, d := range info.Shape {
			dims = append(dims, int(d))
		}
		args = append(args, tensors.FromFlatDataAndDimensions(*values, dims...))
	}
	return args
}

// adam is the optimizer of arXiv:1412.6980.
type adam struct {
	steps         int
	mean, squares [][]float64
}

func (a *adam) learn(w *digits.Weights, gradients []*tensors.Tensor, rate float64) error {
	const keep, keepSquares, tiny = 0.9, 0.999, 1e-8
	a.steps++
	i := 0
	for _, values := range w.Parameters() {
		if a.steps == 1 {
			a.mean, a.squares = append(a.mean, make([]float64, len(*values))), append(a.squares, make([]float64, len(*values)))
		}
		gradient, err := tensors.CopyFlatData[float32](gradients[i])
		if err != nil {
			return err
		}
		mean, squares := a.mean[i], a.squares[i]
		for j, g := range gradient {
			mean[j] = keep*mean[j] + (1-keep)*float64(g)
			squares[j] = keepSquares*squares[j] + (1-keepSquares)*float64(g)*float64(g)
			m, s := mean[j]/(1-math.Pow(keep, float64(a.steps))), squares[j]/(1-math.Pow(keepSquares, float64(a.steps)))
			(*values)[j] -= float32(rate * m / (math.Sqrt(s) + tiny))
		}
		i++
	}
	return nil
}
