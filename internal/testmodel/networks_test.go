package testmodel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weightmap/weightmap/tensor"
)

// TestNetworks adds up the published networks layer by layer. The totals are the
// numbers of parameters that their publishers state; the parts were computed by
// hand from the architectures.
func TestNetworks(t *testing.T) {
	type part struct {
		Prefix          string
		Tensors, Params int
	}
	tests := []struct {
		name    string
		tensors []Tensor
		parts   []part
		total   part // all tensors
		bytes   int64
	}{
		{"resnet50", ResNet50(), []part{
			{"conv1.", 1, 9_408}, {"bn1.", 4, 256},
			{"layer1.0.", 20, 75_008 + 1_280}, {"layer1.1.", 15, 70_400 + 768}, {"layer1.2.", 15, 70_400 + 768},
			{"layer2.", 65, 1_219_584 + 2*(2*128*4+512*4+512)},
			{"layer3.", 95, 7_098_368 + 2*(2*256*6+1024*6+1024)},
			{"layer4.", 50, 14_964_736 + 2*(2*512*3+2048*3+2048)},
			{"fc.", 2, 2_049_000},
		}, part{"", 267, 25_557_032 + 53_120}, 102_440_608},
		{"bert-base", BERTBase(), []part{
			{"bert.embeddings.", 5, 23_837_184},
			{"bert.encoder.layer.0.", 16, 7_087_872}, {"bert.encoder.layer.11.", 16, 7_087_872}, {"bert.encoder.", 192, 12 * 7_087_872},
			{"bert.pooler.", 2, 590_592}, {"bert.", 199, 109_482_240},
			{"cls.", 7, 624_188},
		}, part{"", 206, 110_106_428}, 440_425_712},
		{"gpt2", GPT2(), []part{
			{"wte.", 1, 38_597_376}, {"wpe.", 1, 786_432},
			{"h.0.", 13, 7_087_872 + 1<<20}, {"h.11.", 13, 7_087_872 + 1<<20}, {"h.", 156, 12 * (7_087_872 + 1<<20)},
			{"ln_f.", 2, 1_536},
		}, part{"", 160, 124_439_808 + 12<<20}, 548_090_880},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []part
			names, bytes := map[string]bool{}, int64(0)
			for _, s := range tt.tensors {
				if names[s.Name] || tensor.CheckName(s.Name) != nil {
					t.Errorf("name %q", s.Name)
				}
				names[s.Name] = true
				bytes += s.Info().Size
			}
			for _, p := range append(tt.parts, tt.total) {
				sum := part{Prefix: p.Prefix}
				for _, s := range tt.tensors {
					if strings.HasPrefix(s.Name, p.Prefix) {
						sum.Tensors++
						sum.Params += s.Len()
					}
				}
				got = append(got, sum)
			}
			if d := cmp.Diff(append(tt.parts, tt.total), got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if bytes != tt.bytes {
				t.Errorf("%d bytes, want %d", bytes, tt.bytes)
			}
		})
	}
}

// TestMask: each position attends to itself and to earlier ones.
func TestMask(t *testing.T) {
	s := Tensor{Shape: tensor.Shape{1, 1, 3, 3}, kind: mask}
	if d := cmp.Diff([]float32{1, 0, 0, 1, 1, 0, 1, 1, 1}, s.Data()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
