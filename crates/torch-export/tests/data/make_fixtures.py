"""Makes the fixtures beside it. Needs torch 2.13.0; the models are this repository's own, under its licence."""
import os
import re
import warnings

import torch

warnings.filterwarnings("ignore")
out = os.path.dirname(os.path.abspath(__file__))


def save(name, model, args, dynamic=None):
    program = torch.export.export(model.eval(), args, dynamic_shapes=dynamic)
    program._example_inputs = None
    modules = [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    for node in (n for m in modules for n in m.graph.nodes):
        if "stack_trace" in node.meta:
            # Only the last part of a path, so that no machine's folders are in the repository.
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', node.meta["stack_trace"])
    torch.export.save(program, f"{out}/{name}.pt2")


class W(torch.nn.Module):
    def __init__(s):
        super().__init__()
        base=torch.arange(24,dtype=torch.float32)
        s.register_buffer('whole',base)
        s.register_buffer('tail',base[12:].view(3,4))
        s.register_buffer('transposed',base[12:].view(3,4).t())
        s.register_buffer('every_third',torch.arange(24,dtype=torch.int16)[1::3])
        s.register_buffer('wide',torch.tensor([[1.5],[2.5]],dtype=torch.float64).expand(2,3))
        s.register_buffer('scratch',torch.tensor([True,False]),persistent=False)
        for n,t in dict(half=torch.float16,bf=torch.bfloat16,u8=torch.uint8,i8=torch.int8,i32=torch.int32,i64=torch.int64,u16=torch.uint16,u32=torch.uint32,u64=torch.uint64,c64=torch.complex64,c128=torch.complex128,e4m3=torch.float8_e4m3fn,e5m2=torch.float8_e5m2).items():
            s.register_buffer('t_'+n,torch.tensor([1,2,3]).to(t))
        s.register_buffer('empty',torch.zeros(0,4))
    def forward(s,x):
        y=x+s.tail+s.transposed.t()+s.whole[0]+s.every_third[1]+s.wide.sum()
        y=y*torch.tensor([1.,2.,3.,4.])
        return torch.where(s.scratch[0],y,torch.full_like(y,float('-inf'))), y.clamp(max=float('inf')), None, 3
save('weights',W(),(torch.randn(3,4),))
class D(torch.nn.Module):
    def forward(s,x,scale:float,flag:bool,n):
        b,t=x.shape
        y=x.reshape(b*t//2,2)+n
        z=torch.nn.functional.interpolate(x[:,None],scale_factor=0.7)
        return y, x[:, :t-3].unfold(1,1,1), z, x.split([1,t-1],1)
save('dynamic',D(),(torch.randn(4,10),2.0,True,5),({0:2*torch.export.Dim('b',max=8),1:2*torch.export.Dim('t',min=4,max=64)},None,None,None))
class C(torch.nn.Module):
    def forward(s,x):
        def t(a): return (a.sin()+1,)
        def f(a): return (a.cos(),)
        (y,)=torch.cond(x.sum()>0,t,f,(x,))
        with torch.no_grad():
            w=y*2
        return torch.topk(w,2)[0], w.max(0)[1]
save('nested',C(),(torch.randn(4),))
class F(torch.nn.Module):
    def __init__(s):
        super().__init__(); s.register_buffer('count',torch.zeros(3)); s.register_buffer('cache',torch.zeros(4,3))
    def forward(s,x,i):
        s.count.add_(1)
        s.cache.index_put_((i,),x)
        y=x+s.count
        y.relu_()
        z=y.detach()
        y.mul_(2)
        return z+s.cache.sum(0), y
save('state',F(),(torch.randn(1,3),torch.tensor([1])))
class V(torch.nn.Module):
    def forward(s,x):
        y=x+1
        v=y[0]
        v.mul_(3)
        a,b=y.chunk(2,1)
        a.relu_()
        return y
save('through_view',V(),(torch.randn(2,4),))
class U(torch.nn.Module):
    def forward(s,x,h):
        x.add_(1)
        g=h*2
        g.add_(x.float())
        e=g.eq_(0)
        q=(x*1).view(-1).relu_().view(2,2)
        q.copy_(torch.ones(2))
        return q+e
save('inputs',U(),(torch.randn(2,2),torch.randn(2,2).half()))


class S(torch.nn.Module):
    def forward(self, x):
        a, b, c = (x + 1).split([1, 2, 3], 1)
        b.relu_()
        c.mul_(2)
        return a, b, c


class O(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        a, b = y[:, :4], y[:, 3:]
        b.mul_(2)
        return a


save("split", S(), (torch.randn(2, 6, 3),))
save("overlap", O(), (torch.randn(2, 6),))
