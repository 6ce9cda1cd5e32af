// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// tables are the packet filter's tables that kubelet, kube-proxy and CNI plugins write to.
var tables = []string{"filter", "nat", "mangle"}

// checkRules fails if the machine has KUBE-* and CNI-* chains. Nothing but their names tells whose
// they are, so a node only starts on a machine that has none. Then they are the node's as long as its
// interface exists.
func checkRules(ctx context.Context) error {
	for _, table := range tables {
		rules, err := listRules(ctx, "iptables", table)
		if err != nil {
			return err
		}
		if chains := ownChains(rules); len(chains) > 0 {
			return fmt.Errorf("the packet filter's table %s has the chains %s, so another Kubernetes or container engine runs on this machine. "+
				"Stop it and remove them", table, strings.Join(chains, ", "))
		}
	}
	return nil
}

// removeRules removes the chains of kubelet, kube-proxy and CNI plugins, and the rules that lead to
// them. It touches no other rule.
func removeRules(ctx context.Context) error {
	var all []error
	for _, program := range []string{"iptables", "ip6tables"} {
		for _, table := range tables {
			rules, err := listRules(ctx, program, table)
			if err != nil && program == "ip6tables" {
				continue // a kernel without IPv6 has none
			}
			all = append(all, err)
			for _, args := range removals(rules) {
				all = append(all, command(ctx, program, append([]string{"--wait", "10", "-t", table}, args...)...))
			}
		}
	}
	return errors.Join(all...)
}

// listRules returns a table as arguments of iptables or ip6tables.
func listRules(ctx context.Context, program, table string) ([][]string, error) {
	out, err := exec.CommandContext(ctx, program, "--wait", "10", "-t", table, "-S").Output()
	if err != nil {
		return nil, fmt.Errorf("list the rules of the table %s with %s: %w", table, program, err)
	}
	var rules [][]string
	for line := range strings.Lines(string(out)) {
		rules = append(rules, words(line))
	}
	return rules, nil
}

// words splits a line of "iptables -S": arguments with spaces are in double quotes.
func words(line string) []string {
	var all []string
	var word strings.Builder
	begun, quoted, escaped := false, false, false
	for _, c := range strings.TrimSpace(line) {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			begun, quoted = true, !quoted
		case c == ' ' && !quoted:
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all
}

// ofNode reports whether a chain belongs to Kubernetes or a CNI plugin.
func ofNode(chain string) bool {
	return strings.HasPrefix(chain, "KUBE-") || strings.HasPrefix(chain, "CNI-")
}

// ownChains are the chains of Kubernetes and CNI plugins.
func ownChains(rules [][]string) []string {
	var chains []string
	for _, r := range rules {
		if len(r) == 2 && r[0] == "-N" && ofNode(r[1]) {
			chains = append(chains, r[1])
		}
	}
	return chains
}

// removals are the arguments of iptables that remove the node's chains: first the rules of other
// chains that lead to them, then their content, as they lead to each other, then they themselves.
func removals(rules [][]string) [][]string {
	var all [][]string
	for _, r := range rules {
		if len(r) > 2 && r[0] == "-A" && !ofNode(r[1]) && leadsToNode(r) {
			all = append(all, append([]string{"-D"}, r[1:]...))
		}
	}
	chains := ownChains(rules)
	for _, chain := range chains {
		all = append(all, []string{"-F", chain})
	}
	for _, chain := range chains {
		all = append(all, []string{"-X", chain})
	}
	return all
}

// leadsToNode reports whether a rule jumps or goes to a chain of the node.
func leadsToNode(rule []string) bool {
	for i, word := range rule[:len(rule)-1] {
		if (word == "-j" || word == "-g") && ofNode(rule[i+1]) {
			return true
		}
	}
	return false
}
