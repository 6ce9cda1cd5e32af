// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tables are the packet filter's tables that kubelet, kube-proxy and CNI plugins write to.
var tables = []string{"filter", "nat", "mangle"}

// claimRules records that the machine's KUBE-* and CNI-* chains are this node's from now on. Nothing
// but their names tells whose they are, so it refuses if another Kubernetes has some.
func claimRules(ctx context.Context, dir string) error {
	for _, table := range tables {
		rules, err := listRules(ctx, table)
		if err != nil {
			return err
		}
		if chains := ownChains(rules); len(chains) > 0 {
			return fmt.Errorf("the packet filter's table %s has the chains %s, so another Kubernetes or container engine runs on this machine, or a node was killed. "+
				"Stop the first, or remove the second:\n    kube-node down DIR", table, strings.Join(chains, ", "))
		}
	}
	return os.WriteFile(claim(dir), nil, 0o600)
}

// claim is the file that records the claim of the chains.
func claim(dir string) string { return filepath.Join(dir, "owns-chains") }

// removeRules removes the chains of kubelet, kube-proxy and CNI plugins, and the rules that lead to
// them. It touches no other rule.
func removeRules(ctx context.Context, dir string) error {
	if _, err := os.Stat(claim(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var all []error
	for _, table := range tables {
		rules, err := listRules(ctx, table)
		all = append(all, err)
		for _, args := range removals(rules) {
			all = append(all, command(ctx, "iptables", append([]string{"--wait", "10", "-t", table}, args...)...))
		}
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	return os.Remove(claim(dir))
}

// listRules returns a table as arguments of iptables.
func listRules(ctx context.Context, table string) ([][]string, error) {
	out, err := exec.CommandContext(ctx, "iptables", "--wait", "10", "-t", table, "-S").Output()
	if err != nil {
		return nil, fmt.Errorf("list the rules of the table %s: %w", table, err)
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
