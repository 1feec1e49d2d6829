package torch
import ("testing";"fmt";"github.com/weightmap/weightmap/tensor")
func TestTmp(t *testing.T){
 for _,n:=range []string{"fortran_tensor_3d.pth","test.pt","test_with_key.pt"} {
  m,err:=Open("/work/shared/foreign/pt/"+n,nil)
  if err!=nil {t.Fatal(err)}
  if _,err:=m.Verify(t.Context());err!=nil{t.Error(err)}
  md:=m.Metadata()
  fmt.Println(m.Format(),m.Version(),md,m.Notes())
  for name,v:=range m.Tensors(){ x,err:=tensor.Decode[int64](nil,v); fmt.Println(name,v.Info().Shape,v.Info().DType,v.ZeroCopy(),x,err)}
  m.Close()
 }
}
