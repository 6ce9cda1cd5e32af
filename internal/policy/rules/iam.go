// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

var noIAM = Rule{
	Name:    "no-iam",
	Summary: "The plan grants, takes and delegates no access.",
	Details: "A maintained list covers AWS (`aws`, `awscc`), Google Cloud, Azure (`azurerm`, `azuread`, `azapi`) and Kubernetes (`kubernetes`, `helm`, `kubectl`), also where access is granted indirectly:\n\n" +
		"- identities, roles, policies, bindings, keys, tokens, and organization policies: every change of such a resource;\n" +
		"- policies and roles in attributes of other resources, at any depth (`policy` of a queue, `iam_instance_profile` of an instance, `role` of a function, `service_account` of a machine, `identity`, `access_policy`, `service_account_name` of a Pod): if they are set, changed or not known until the apply. Booleans count if they change;\n" +
		"- manifests (`kubernetes_manifest`, `kubectl_manifest`) of RBAC, service accounts, certificates, webhooks, and of controllers that apply anything, such as Flux and Argo CD; `aws-auth`, token Secrets, and annotations of service accounts;\n" +
		"- what can do anything and does not show it in the plan: CloudFormation, Cloud Control, deployment templates, `azapi`, Helm charts;\n" +
		"- programs, which run with the stack's credentials: provisioners, and the data sources of `no-external-data` that run programs (unless `programs` is `allow`).\n\n" +
		"A value that is unknown or sensitive is a finding. Custom providers are not in the list: name their types with `types`, and allow no other providers with `approved-providers`.",
	Parameters: []Parameter{
		{Name: "types", Type: TypeTexts, Meaning: "More types of which every change is a finding. `*` stands for any text."},
		{Name: "allowed", Type: TypeTexts, Default: "none", Meaning: "Types that are left out, such as `aws_s3_bucket_public_access_block`; `exec` leaves out programs in the configuration of providers."},
		{Name: "addresses", Type: TypeTexts, Default: "all", Meaning: "The addresses that the rule is about. `*` stands for any text."},
		{Name: "programs", Type: TypeText, Default: "deny", Meaning: "`deny` or `allow`: whether provisioners and programs are left to other rules."},
	},
	Example: "types: [vault_policy, \"vault_*_role\"]\nallowed: [aws_s3_bucket_public_access_block]",
	Stages:  everyStage,
	prepare: func(raw json.RawMessage) (check, error) {
		p := iamRule{Programs: "deny"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		if err := oneOf("programs", p.Programs, "deny", "allow"); err != nil {
			return nil, err
		}
		if err := p.Types.validate("types"); err != nil {
			return nil, err
		}
		if err := p.Allowed.validate("allowed"); err != nil {
			return nil, err
		}
		return p.judge, p.Addresses.validate("addresses")
	},
}

type iamRule struct {
	Types     patterns `json:"types"`
	Allowed   patterns `json:"allowed"`
	Addresses patterns `json:"addresses"`
	Programs  string   `json:"programs"`
}

// iamClass is what the list says about a type.
type iamClass struct {
	allowed, whole bool
	// names are attributes that count, held those and the ones that may have them inside.
	names, held map[string]bool
}

func (p *iamRule) classify(kind string) iamClass {
	switch {
	case p.Types.match(kind):
		return iamClass{whole: true}
	case p.Allowed.match(kind):
		return iamClass{allowed: true}
	case iamHarmless.match(kind):
		return iamClass{}
	case iamTypes.match(kind):
		return iamClass{whole: true}
	}
	c := iamClass{}
	for _, row := range iamAttributes {
		if row.types.match(kind) {
			c.names = map[string]bool{}
			for _, name := range row.names {
				c.names[name] = true
			}
			c.held = maps.Clone(c.names)
			maps.Copy(c.held, holders)
		}
	}
	return c
}

func (p *iamRule) judge(f *facts.Document, now time.Time, r *report) {
	if p.Programs == "deny" {
		p.programs(f, r)
	}
	if f.Plan == nil {
		return // before the plan, only programs can be judged
	}
	classes := map[string]iamClass{}
	for c := range selected(f, &selection{Addresses: p.Addresses}, r) {
		if c.Action == facts.ActionNoOp && !c.Imports {
			continue
		}
		class, known := classes[c.Type]
		if !known {
			class = p.classify(c.Type)
			classes[c.Type] = class
		}
		switch {
		case class.allowed:
		case class.whole:
			r.object(c.Address, "%s can grant or take access: %s", c.Type, verb(c))
		case manifestTypes[c.Type] != "" || strings.HasPrefix(c.Type, "kubernetes_"),
			class.names != nil && (mentions(c.Before, class.held) || mentions(c.After, class.held)):
			p.values(c, &class, r)
		}
	}
}

// verb describes an action.
func verb(c *facts.Change) string {
	if c.Action == facts.ActionNoOp {
		return "import"
	}
	return c.Action
}

// programs finds what runs with the stack's credentials.
func (p *iamRule) programs(f *facts.Document, r *report) {
	if !configured(f, r) {
		return
	}
	for i := range f.Configuration.Resources {
		res := &f.Configuration.Resources[i]
		name := address(res)
		if len(p.Addresses) > 0 && !p.Addresses.match(name) || p.Allowed.match(res.Type) {
			continue
		}
		runs := res.Mode != "managed" && dataPrograms.match(res.Type) || res.Mode == "managed" && programTypes.match(res.Type)
		if len(res.Provisioners) > 0 || runs {
			r.unknown(name, "runs programs with the stack's credentials, which can grant access%s", at(res.At))
		}
	}
	for i := range f.Configuration.Programs {
		if program := &f.Configuration.Programs[i]; len(p.Addresses) == 0 && !p.Allowed.match(program.Kind) {
			r.unknown(programAddress(program), "runs a program (%s) with the stack's credentials, which can grant access%s", program.Kind, at(program.At))
		}
	}
}

// dataPrograms are types of data sources that run programs or send requests of any kind.
var dataPrograms = patterns{"external", "shell_script", "local_command", "terracurl_request", "aws_lambda_invocation", "azapi_resource_action"}

// values judges the attributes of a change.
func (p *iamRule) values(c *facts.Change, class *iamClass, r *report) {
	before, err1 := facts.Parse(c.Before)
	after, err2 := facts.Parse(c.After)
	if err1 != nil || err2 != nil {
		r.unknown(c.Address, "its values cannot be read")
		return
	}
	if manifestTypes[c.Type] != "" {
		judgeManifests(c, before, after, r)
		return
	}
	if strings.HasPrefix(c.Type, "kubernetes_") {
		judgeKubernetes(c, before, after, r)
	}
	if c.Action == facts.ActionDelete || c.Action == facts.ActionForget {
		return // its attributes go with it
	}
	was, is := map[string]any{}, map[string]any{}
	collect(before, "", class.names, was)
	collect(after, "", class.names, is)
	creates := before == nil || c.Imports
	for _, path := range slices.Sorted(maps.Keys(is)) {
		value := is[path]
		switch value.(type) {
		case facts.Unknown:
			r.unknown(c.Address, "%s is known after the apply only", path)
		case facts.Sensitive:
			if creates || mayDiffer(c, path) {
				r.unknown(c.Address, "%s is sensitive, so nobody can judge it", path)
			}
		default:
			if creates && grants(path, value) {
				r.object(c.Address, "%s grants access or hands out an identity", path)
			} else if !creates && !same(was[path], value) {
				r.object(c.Address, "%s would change", path)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(was)) {
		if _, still := is[path]; !still && set(was[path]) && mayDiffer(c, path) {
			r.object(c.Address, "%s would be removed", path)
		}
	}
}

// mayDiffer reports whether the part of a change that has a path differs, or may differ.
func mayDiffer(c *facts.Change, path string) bool {
	if c.ChangedOmitted > 0 {
		return true
	}
	top, _, _ := strings.Cut(path, ".")
	top, _, _ = strings.Cut(top, "[")
	return slices.ContainsFunc(c.Changed, func(name string) bool {
		first, _, _ := strings.Cut(name, ".")
		return first == top
	})
}

// holders are attributes that have such attributes inside; if one of them is unknown, nobody knows.
var holders = map[string]bool{
	"spec": true, "template": true, "job_template": true, "ec2_attributes": true, "node_config": true, "default_user_settings": true,
	"launch_template_config": true, "instance_template": true, "role_mapping": true, "statement": true,
}

// collect finds the attributes of some names at any depth.
func collect(value any, path string, names map[string]bool, found map[string]any) {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			collect(element, fmt.Sprintf("%s[%d]", path, i), names, found)
		}
	case map[string]any:
		for name, element := range v {
			inner := strings.TrimPrefix(path+"."+name, ".")
			_, unknown := element.(facts.Unknown)
			if names[name] || unknown && holders[name] {
				found[inner] = element
				continue
			}
			collect(element, inner, names, found)
		}
	}
}

// set reports whether a value says anything.
func set(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// harmlessValues are values of such attributes that grant nothing, and are often written.
var harmlessValues = map[string][]string{
	"acl": {"private"}, "predefined_acl": {"private"}, "container_access_type": {"private"}, "public_access_prevention": {"enforced", "inherited"},
	"service_account_name": {"default"}, "service_account": {"default"},
}

// grants reports whether a value of a new object grants anything. Booleans are defaults of providers
// in most cases.
func grants(path string, value any) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch v := value.(type) {
	case bool:
		return false
	case string:
		if slices.Contains(harmlessValues[name], v) {
			return false
		}
	}
	return set(value)
}

// same compares two values; nothing and an empty one are the same.
func same(a, b any) bool {
	if !set(a) && !set(b) {
		return true
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y) && !marked(a) && !marked(b)
}

// marked reports whether a value has parts that are not known.
func marked(value any) bool {
	switch v := value.(type) {
	case facts.Unknown, facts.Sensitive:
		return true
	case []any:
		return slices.ContainsFunc(v, marked)
	case map[string]any:
		for _, element := range v {
			if marked(element) {
				return true
			}
		}
	}
	return false
}
