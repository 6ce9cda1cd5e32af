// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"text/template/parse"
)

// Names of the functions that instrument inserts.
const (
	functionTurn  = "yuba_turn"
	functionShow  = "yuba_show"
	functionWeigh = "yuba_weigh"
)

// nodeCost is the cost of one node each time it may be executed.
const nodeCost = 64

// comparing are functions of text/template that read a whole text. They cannot be wrapped, but
// their arguments can.
var comparing = map[string]bool{"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true}

// instrument makes a template pay: text/template cannot be stopped, so bodies of loops and
// templates begin with a call that can refuse, and everything written is measured.
func instrument(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	list(tree, tree.Root)
	charge(tree, tree.Root)
}

// soleAction reports whether an uninstrumented template is one action that writes its result.
func soleAction(root *parse.ListNode) bool {
	if root == nil || len(root.Nodes) != 1 {
		return false
	}
	action, ok := root.Nodes[0].(*parse.ActionNode)
	return ok && action.Pipe != nil && len(action.Pipe.Decl) == 0
}

// soleCall reports whether an uninstrumented list writes nothing, or only the result of one call of
// the named functions, in every branch.
func soleCall(l *parse.ListNode, names map[string]bool) bool {
	if l == nil {
		return true
	}
	writing := 0
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			if n.Pipe != nil && len(n.Pipe.Decl) > 0 {
				continue
			}
			if !endsIn(n.Pipe, names) {
				return false
			}
		case *parse.IfNode:
			if !soleCall(n.List, names) || !soleCall(n.ElseList, names) {
				return false
			}
		case *parse.WithNode:
			if !soleCall(n.List, names) || !soleCall(n.ElseList, names) {
				return false
			}
		default:
			return false
		}
		writing++
	}
	return writing <= 1
}

// endsIn reports whether the last command of a pipe calls one of the functions.
func endsIn(p *parse.PipeNode, names map[string]bool) bool {
	if p == nil || len(p.Decl) > 0 || len(p.Cmds) == 0 {
		return false
	}
	args := p.Cmds[len(p.Cmds)-1].Args
	switch first := args[0].(type) {
	case *parse.IdentifierNode:
		return names[first.Ident]
	case *parse.PipeNode: // in parentheses
		return len(args) == 1 && len(p.Cmds) == 1 && endsIn(first, names)
	}
	return false
}

// list instruments a list, and returns the number of its nodes.
func list(tree *parse.Tree, l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			weigh(tree, n.Pipe)
			show(tree, n)
		case *parse.TemplateNode:
			weigh(tree, n.Pipe)
		case *parse.IfNode:
			branch(tree, &n.BranchNode)
		case *parse.WithNode:
			branch(tree, &n.BranchNode)
		case *parse.RangeNode:
			branch(tree, &n.BranchNode)
			charge(tree, n.List)
		}
	}
}

func branch(tree *parse.Tree, n *parse.BranchNode) {
	weigh(tree, n.Pipe)
	list(tree, n.List)
	list(tree, n.ElseList)
}

// weigh passes compared values through a function that measures them: the arguments, and the input
// of the pipe.
func weigh(tree *parse.Tree, p *parse.PipeNode) {
	if p == nil {
		return
	}
	var commands []*parse.CommandNode
	for i, command := range p.Cmds {
		for _, arg := range command.Args {
			weighIn(tree, arg)
		}
		if name, ok := command.Args[0].(*parse.IdentifierNode); ok && comparing[name.Ident] {
			for j, arg := range command.Args[1:] {
				command.Args[j+1] = pipeOf(tree, command.Pos, arg)
			}
			if i > 0 {
				commands = append(commands, weighCommand(tree, command.Pos))
			}
		}
		commands = append(commands, command)
	}
	p.Cmds = commands
}

// weighIn visits an argument that is a pipeline in parentheses.
func weighIn(tree *parse.Tree, arg parse.Node) {
	switch a := arg.(type) {
	case *parse.PipeNode:
		weigh(tree, a)
	case *parse.ChainNode:
		weighIn(tree, a.Node)
	}
}

func weighCommand(tree *parse.Tree, pos parse.Pos, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: append([]parse.Node{identifier(tree, pos, functionWeigh)}, args...)}
}

func pipeOf(tree *parse.Tree, pos parse.Pos, arg parse.Node) *parse.PipeNode {
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{weighCommand(tree, pos, arg)}}
}

// charge inserts a call at the beginning of a list that pays for one iteration.
func charge(tree *parse.Tree, l *parse.ListNode) {
	pos := l.Position()
	price := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(nodeCost * (1 + count(l))), Text: "0"}
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{identifier(tree, pos, functionTurn), price}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{call}}
	l.Nodes = append([]parse.Node{&parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}}, l.Nodes...)
}

// show passes the result of an action through a function, with the action's text for messages.
func show(tree *parse.Tree, n *parse.ActionNode) {
	if n.Pipe == nil || len(n.Pipe.Decl) > 0 {
		return
	}
	text := n.Pipe.String()
	name := &parse.StringNode{NodeType: parse.NodeString, Pos: n.Pos, Quoted: `""`, Text: text}
	n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos,
		Args: []parse.Node{identifier(tree, n.Pos, functionShow), name}})
}

func identifier(tree *parse.Tree, pos parse.Pos, name string) *parse.IdentifierNode {
	return parse.NewIdentifier(name).SetPos(pos).SetTree(tree)
}

// count returns the nodes that one iteration of a list executes at most; inner loops pay for
// themselves.
func count(l *parse.ListNode) int {
	if l == nil {
		return 0
	}
	nodes := 0
	for _, node := range l.Nodes {
		nodes++
		switch n := node.(type) {
		case *parse.ActionNode:
			nodes += arguments(n.Pipe)
		case *parse.TemplateNode:
			nodes += arguments(n.Pipe)
		case *parse.IfNode:
			nodes += arguments(n.Pipe) + count(n.List) + count(n.ElseList)
		case *parse.WithNode:
			nodes += arguments(n.Pipe) + count(n.List) + count(n.ElseList)
		case *parse.RangeNode:
			nodes += arguments(n.Pipe) + count(n.ElseList)
		case *parse.TextNode:
			nodes += len(n.Text) / 64
		}
	}
	return nodes
}

func arguments(p *parse.PipeNode) int {
	if p == nil {
		return 0
	}
	nodes := 0
	for _, command := range p.Cmds {
		for _, arg := range command.Args {
			nodes++
			switch a := arg.(type) {
			case *parse.PipeNode:
				nodes += arguments(a)
			case *parse.FieldNode:
				nodes += len(a.Ident)
			case *parse.VariableNode:
				nodes += len(a.Ident)
			case *parse.ChainNode:
				nodes += len(a.Field)
				if inner, ok := a.Node.(*parse.PipeNode); ok {
					nodes += arguments(inner)
				}
			}
		}
	}
	return nodes
}
