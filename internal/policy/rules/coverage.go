// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// Coverage says how far a rule reaches, for its page. Each item is a sentence in Markdown.
type Coverage struct {
	// Catches are ways around the rule that it finds, Misses those that it cannot find, with what helps.
	Catches, Misses []string
}

// Coverage returns how far the rule reaches.
func (r Rule) Coverage() Coverage { return coverage[r.Name] }

// coverage has each rule. Tests of this package show what they catch with plans of the real tool.
var coverage = map[string]Coverage{
	"no-destroy": {
		Catches: []string{
			"A replacement, in either order, also one by `-replace`, `replace_triggered_by` or a tainted object.",
			"`removed` blocks, and `lifecycle { destroy = false }`, which drop a resource from the state.",
			"A resource that a `moved` block renames out of `addresses` or `types`, also if another plan is to destroy it: the move is a finding.",
			"Keys of `for_each` with brackets, quotes, dots and any language; resources in modules in modules; a whole module that is gone.",
		},
		Misses: []string{
			"An update in place that destroys data, such as a smaller disk or a shorter retention. Name such attributes in a custom rule.",
			"What a provider, a provisioner or a program destroys on its own. See `no-provisioners`, `no-external-data` and `approved-providers`.",
		},
	},
	"no-replace": {
		Catches: []string{"`create_before_destroy`, `-replace`, tainted objects and `replace_triggered_by`.", "A replacement whose old object is only forgotten.", "A resource that a `moved` block renames and that is then replaced, also by another plan: with `addresses` or `types`, a move out of them is a finding."},
		Misses:  []string{"A resource that is destroyed at one address and created at another without a `moved` block: use `no-destroy`."},
	},
	"no-forget": {
		Catches: []string{"`removed` blocks with `destroy = false`.", "`lifecycle { destroy = false }` of a resource that is not declared any more.", "The old object of a replacement that is forgotten.", "A resource that a `moved` block renames out of `addresses` or `types`."},
		Misses:  []string{"`yuba state rm`, which is an operation on the state and no plan. The [audit log](../how-to/audit-log.md) has it."},
	},
	"max-changes": {
		Catches: []string{"Replacements, which count as destroyed, too.", "Deposed objects that the apply cleans up.", "`percent` of a state of which a plan destroys everything."},
		Misses:  []string{"Many plans, each below the limit.", "One resource that stands for many, such as a Helm release or a CloudFormation stack: limit it with `byType`."},
	},
	"only-tags-changed": {
		Catches: []string{"An attribute that is unknown until the apply.", "Imports, which adopt an object.", "A change of another attribute beside the tags."},
		Misses:  []string{"Policies that depend on tags, such as an IAM condition with `aws:ResourceTag`: a change of a tag can grant access."},
	},
	"no-provisioners": {
		Catches: []string{"Provisioners in modules of any depth, and of resources with `count = 0`.", "`removed` blocks, whose provisioners a plan does not show: each is a finding, unless `removed` is `allow`."},
		Misses:  []string{"Programs that data sources or providers run: see `no-external-data` and `approved-providers`.", "User data and start scripts that run on created machines."},
	},
	"no-external-data": {
		Catches: []string{"The same data source of another provider, or with an alias.", "Ephemeral resources, and managed resources that do the same.", "Data sources in modules, also ones that are read during the apply only."},
		Misses:  []string{"In the stage `Plan` the program has already run, while planning.", "Functions and data sources of providers that the list does not know. Name them with `types`, and allow no other providers with `approved-providers`."},
	},
	"contract-safe": {
		Catches: []string{"A missing attribute, another type, null, and an output that is gone, for each consumer that reads it.", "A value that is unknown until the apply."},
		Misses:  []string{"A value that fits its type and is wrong. Add validations to the contract."},
	},
	"change-window": {
		Catches: []string{"A plan that was approved in a window and waits until after it: it is judged again.", "Days on which clocks change, and windows over midnight.", "A clock that was set back before the time of the plan."},
		Misses:  []string{"An apply that begins in the window and ends after it."},
	},
	"approved-providers": {
		Catches: []string{"Other local names and aliases, providers of modules, and providers that only destroy.", "A provider of the same type from another registry or namespace.", "A package with other hashes than the approved ones, with `hashes`."},
		Misses:  []string{"What an approved provider can do. Some can do anything, such as `null`, `external` and `azapi`."},
	},
	"pinned-versions": {
		Catches: []string{"Ranges, branches, missing refs, and modules that other modules call.", "A source that was installed from elsewhere than it is written."},
		Misses:  []string{"With `refs: version`, a tag that is moved to another commit, and a branch with the name of a version, such as `v1.2.3` or `release-1.2.3`: use `refs: commit`.", "A registry that serves other bytes for a version. Yuba's own does not."},
	},
	"approved-modules": {
		Catches: []string{"Other spellings of a source: hosts, ports, user names, `.git`, `//` and `?ref=`.", "A local module that wraps resources, a copy of a module in the source, and a module in an approved module that is not approved itself.",
			"Resources beside the modules, and changes of resources whose module is gone.", "An archive with the name of an approved module and other content, with `digests`.",
			"With `digests`, a source that brings a genuine package and a list of modules that makes the tool read another directory."},
		Misses: []string{"Inputs of an approved module that make it do other things than its author meant.", "Without `digests`, a source that brings its own `.terraform/modules`."},
	},
	"no-iam": {
		Catches: []string{"Resource policies, grants, permissions and role bindings beside the IAM types.", "Roles that are handed to what runs: instance profiles, execution roles, service accounts, managed identities.",
			"Manifests of RBAC in `kubernetes_manifest` and `kubectl_manifest`, `aws-auth`, and token Secrets.", "Templates and charts that the plan does not show, and programs that run with the stack's credentials.", "Values that are unknown or sensitive."},
		Misses: []string{"Types of providers that are not in the list: name them with `types`, and allow no other providers with `approved-providers`.", "Access through the network, such as a security group: write a custom rule.",
			"New types and attributes of a cloud, until the list has them. Patterns cover most."},
	},
}
