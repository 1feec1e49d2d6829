package testmodel

import "fmt"

// ResNet50 returns the state of torchvision.models.resnet50: 25,557,032 parameters and 53,120
// statistics of batch normalization, 98 MB (of 1,048,576 bytes). It omits the 53 int64 counters
// num_batches_tracked.
//
// Source: torchvision/models/resnet.py, ResNet(Bottleneck, [3, 4, 6, 3]), with the
// stride in the 3x3 convolution; figure and table 1 of arXiv:1512.03385 have the
// same shapes.
func ResNet50() []Tensor {
	b := builder{seed: 50}
	b.add(weight, "conv1.weight", 64, 3, 7, 7)
	b.norm("bn1", 64)
	in := int64(64)
	for stage, s := range []struct {
		blocks int
		width  int64
	}{{3, 64}, {4, 128}, {6, 256}, {3, 512}} {
		for i := range s.blocks {
			b.bottleneck(fmt.Sprintf("layer%d.%d.", stage+1, i), in, s.width, i == 0)
			in = 4 * s.width
		}
	}
	b.layer("fc", 1000, 2048)
	return b.tensors
}

// bottleneck adds three convolutions without bias, their normalizations, and the projection in a
// stage's first block.
func (b *builder) bottleneck(p string, in, width int64, first bool) {
	for i, c := range [][]int64{{width, in, 1, 1}, {width, width, 3, 3}, {4 * width, width, 1, 1}} {
		b.add(weight, fmt.Sprintf("%sconv%d.weight", p, i+1), c...)
		b.norm(fmt.Sprintf("%sbn%d", p, i+1), c[0])
	}
	if first {
		b.add(weight, p+"downsample.0.weight", 4*width, in, 1, 1)
		b.norm(p+"downsample.1", 4*width)
	}
}

// BERTBase returns bert-base-uncased as published, with its pre-training heads: 110,106,428
// parameters, 440 MB.
//
// Source: BertForPreTraining of transformers/models/bert/modeling_bert.py with the
// published config.json: hidden_size 768, intermediate_size 3072, 12 layers,
// vocab_size 30522, max_position_embeddings 512, type_vocab_size 2. The decoder
// shares the word embeddings.
func BERTBase() []Tensor {
	const d, inner = 768, 3072
	b := builder{seed: 12}
	b.add(weight, "bert.embeddings.word_embeddings.weight", 30522, d)
	b.add(weight, "bert.embeddings.position_embeddings.weight", 512, d)
	b.add(weight, "bert.embeddings.token_type_embeddings.weight", 2, d)
	b.scale("bert.embeddings.LayerNorm", d)
	for i := range 12 {
		p := fmt.Sprintf("bert.encoder.layer.%d.", i)
		for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			b.layer(p+"attention."+name, d, d)
		}
		b.scale(p+"attention.output.LayerNorm", d)
		b.layer(p+"intermediate.dense", inner, d)
		b.layer(p+"output.dense", d, inner)
		b.scale(p+"output.LayerNorm", d)
	}
	b.layer("bert.pooler.dense", d, d)
	b.add(bias, "cls.predictions.bias", 30522)
	b.layer("cls.predictions.transform.dense", d, d)
	b.scale("cls.predictions.transform.LayerNorm", d)
	b.layer("cls.seq_relationship", 2, d)
	return b.tensors
}

// GPT2 returns gpt2, the smallest of its family, as published: 124,439,808 parameters and a mask of
// 1024 x 1024 in each of 12 layers, 548 MB.
//
// Source: transformers/models/gpt2/modeling_gpt2.py with the published config.json:
// n_embd 768, n_layer 12, n_ctx 1024, vocab_size 50257. Its Conv1D has weights of
// inputs by outputs.
func GPT2() []Tensor {
	const d, context = 768, 1024
	b := builder{seed: 2}
	b.add(weight, "wte.weight", 50257, d)
	b.add(weight, "wpe.weight", context, d)
	for i := range 12 {
		p := fmt.Sprintf("h.%d.", i)
		b.scale(p+"ln_1", d)
		b.add(mask, p+"attn.bias", 1, 1, context, context)
		b.conv1D(p+"attn.c_attn", d, 3*d)
		b.conv1D(p+"attn.c_proj", d, d)
		b.scale(p+"ln_2", d)
		b.conv1D(p+"mlp.c_fc", d, 4*d)
		b.conv1D(p+"mlp.c_proj", 4*d, d)
	}
	b.scale("ln_f", d)
	return b.tensors
}

// conv1D adds a linear layer with a transposed weight.
func (b *builder) conv1D(name string, in, out int64) {
	b.add(weight, name+".weight", in, out)
	b.add(bias, name+".bias", out)
}
