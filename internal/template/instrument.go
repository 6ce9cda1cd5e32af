// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"text/template/parse"
)

// The functions that instrument adds calls of.
const (
	functionTurn = "yuba_turn"
	functionShow = "yuba_show"
)

// nodeCost is what one node of a template costs each time it may be executed.
const nodeCost = 16

// instrument makes a template pay: text/template cannot be stopped from
// outside, so the bodies of loops and of templates begin with a call that can
// refuse, and whatever is written passes a function that measures it first.
func instrument(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	list(tree, tree.Root)
	charge(tree, tree.Root)
}

// list instruments what stands in a list, and returns how many nodes it has.
func list(tree *parse.Tree, l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			show(tree, n)
		case *parse.IfNode:
			list(tree, n.List)
			list(tree, n.ElseList)
		case *parse.WithNode:
			list(tree, n.List)
			list(tree, n.ElseList)
		case *parse.RangeNode:
			list(tree, n.List)
			list(tree, n.ElseList)
			charge(tree, n.List)
		}
	}
}

// charge puts a call in front of a list that pays for one turn of it.
func charge(tree *parse.Tree, l *parse.ListNode) {
	pos := l.Position()
	price := &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: int64(nodeCost * (1 + count(l))), Text: "0"}
	call := &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{identifier(tree, pos, functionTurn), price}}
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{call}}
	l.Nodes = append([]parse.Node{&parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}}, l.Nodes...)
}

// show sends what an action would write through a function, with the action's
// own text, for messages.
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

// count counts the nodes of a list that one turn of it executes at most; loops
// inside pay for themselves.
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
