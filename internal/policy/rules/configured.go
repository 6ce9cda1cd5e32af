// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

var everyStage = []facts.Stage{facts.StagePrePlan, facts.StagePlan, facts.StageDrift}

// address is the address of a declared resource, without keys.
func address(res *facts.Resource) string {
	if res.Module == "" {
		return res.Address
	}
	return moduleAddress(res.Module) + "." + res.Address
}

// moduleAddress is the address of a module's call, without keys.
func moduleAddress(key string) string {
	return "module." + strings.ReplaceAll(key, ".", ".module.")
}

// configured reports whether the configuration is known; if not, it is a finding. So is each part
// that could not be read.
func configured(f *facts.Document, r *report) bool {
	if !f.Configuration.Known {
		r.unknown("", "the configuration is not known")
	}
	for _, u := range f.Configuration.Unread {
		address := ""
		if u.Module != "" {
			address = moduleAddress(u.Module)
		}
		r.unknown(address, "%s%s", u.Why, at(u.At))
	}
	return f.Configuration.Known
}

// at ends a message with a position, if it is known.
func at(position string) string {
	if position == "" {
		return ""
	}
	return ", at " + position
}

var noProvisioners = Rule{
	Name:    "no-provisioners",
	Summary: "No resource has provisioners: they run programs during the apply.",
	Details: "All modules are searched. Provisioners of `removed` blocks are not in a plan, so a resource that is destroyed and that the configuration does not have any more " +
		"is a finding, unless `removed` is `allow`.",
	Parameters: []Parameter{
		{Name: "allowed", Type: TypeTexts, Default: "none", Meaning: "Types of provisioners that are allowed, such as `file`."},
		{Name: "removed", Type: TypeText, Default: "deny", Meaning: "`deny` or `allow`: whether resources that the configuration does not have any more may be destroyed."},
	},
	Stages: everyStage,
	prepare: func(raw json.RawMessage) (check, error) {
		p := struct {
			Allowed []string `json:"allowed"`
			Removed string   `json:"removed"`
		}{Removed: "deny"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			if !configured(f, r) {
				return
			}
			for i := range f.Configuration.Resources {
				res := &f.Configuration.Resources[i]
				for _, kind := range res.Provisioners {
					if !slices.Contains(p.Allowed, kind) {
						r.object(address(res), "has the provisioner %s%s", kind, at(res.At))
					}
				}
			}
			for i := range f.Changes {
				if c := &f.Changes[i]; c.Mode == "managed" && c.Destroys && !c.Declared && p.Removed == "deny" {
					r.unknown(c.Address, "would be destroyed and is not declared any more; a removed block may have provisioners, which the plan does not show")
				}
			}
		}, oneOf("removed", p.Removed, "deny", "allow")
	},
}

// externalTypes are the types of data sources that read more than a cloud's API: programs, addresses
// and files of the program's choice. Ephemeral resources have the same names.
var externalTypes = patterns{
	"external", "http", "terraform_remote_state", "local_file", "local_sensitive_file", "local_command", "shell_script", "dns_*", "git_*",
	"kubectl_path_documents", "kubectl_filename_list", "tls_certificate", "restapi_object", "curl", "curl2", "terracurl_request",
	"aws_lambda_invocation", "azapi_resource_action",
}

// programTypes are types of managed resources that run programs, or send requests of the program's
// choice.
var programTypes = patterns{
	"shell_script", "terracurl_request", "restapi_object", "local_command", "ssh_resource", "ssh_sensitive_resource", "ansible_playbook",
	"aws_lambda_invocation", "azapi_resource_action",
}

// programAddress is the address of a place that names a program.
func programAddress(p *facts.Program) string {
	if p.Module == "" {
		return p.Address
	}
	return moduleAddress(p.Module) + "." + p.Address
}

var noExternalData = Rule{
	Name:    "no-external-data",
	Summary: "No data source runs programs, or reads addresses and files of the program's choice.",
	Details: "Such data sources run while planning, with the stack's credentials: judge them before the plan, by a policy with the stage `prePlan`. " +
		"Key providers of an encryption that run a program (`external`) are findings, too, and so are providers whose configuration names one (`exec`, of kubernetes and helm). " +
		"The rule knows `external`, `http`, `terraform_remote_state`, `local_file` and more, of any provider and as ephemeral resources, and the managed resources that do the same, such as `shell_script`.",
	Parameters: []Parameter{
		{Name: "types", Type: TypeTexts, Meaning: "More types that are findings. `*` stands for any text."},
		{Name: "allowed", Type: TypeTexts, Default: "none", Meaning: "Types that are allowed, such as `http`; `exec` allows programs in the configuration of providers."},
	},
	Example: "allowed: [terraform_remote_state]",
	Stages:  everyStage,
	prepare: func(raw json.RawMessage) (check, error) {
		var p struct {
			Types   patterns `json:"types"`
			Allowed patterns `json:"allowed"`
		}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		reads := slices.Concat(externalTypes, p.Types)
		runs := slices.Concat(programTypes, p.Types)
		refuses := func(mode, kind string) bool {
			known := reads
			if mode == "managed" {
				known = runs
			}
			return known.match(kind) && !p.Allowed.match(kind)
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			if !configured(f, r) {
				return
			}
			declared := map[string]bool{}
			for i := range f.Configuration.Resources {
				if res := &f.Configuration.Resources[i]; refuses(res.Mode, res.Type) {
					declared[res.Module+"/"+res.Mode+"/"+res.Type] = true
					r.object(address(res), "reads or runs what the configuration names%s", at(res.At))
				}
			}
			for i := range f.Configuration.Programs {
				if program := &f.Configuration.Programs[i]; !p.Allowed.match(program.Kind) {
					r.object(programAddress(program), "runs a program that the configuration names (%s)%s", program.Kind, at(program.At))
				}
			}
			for i := range f.Changes {
				c := &f.Changes[i]
				if refuses(c.Mode, c.Type) && !declared[c.Module+"/"+c.Mode+"/"+c.Type] {
					r.object(c.Address, "reads or runs what the configuration names")
				}
			}
		}, p.Types.validate("types")
	},
}

var contractSafe = Rule{
	Name:    "contract-safe",
	Summary: "The plan breaks no contract that the stack publishes.",
	Details: "A contract that would break is a finding for each consumer that reads what is missing. A verdict that is unknown until the apply is a finding unless `unknown` is `allow`: " +
		"the value is then validated after the apply, and not published if it does not fit.",
	Parameters: []Parameter{
		{Name: "unknown", Type: TypeText, Default: "deny", Meaning: "`deny` or `allow`: whether a verdict may be unknown until the apply."},
	},
	Stages: afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		p := struct {
			Unknown string `json:"unknown"`
		}{Unknown: "deny"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			for _, c := range f.Contracts {
				name := "contract " + c.Name + "@" + c.Version
				switch c.Verdict {
				case facts.ContractFits:
				case facts.ContractBreaks:
					if len(c.Breaks) == 0 {
						r.object(name, "would break: %s", c.Message)
					}
					for _, b := range c.Breaks {
						r.object(name, "would break %s/%s, which reads %s: %s", b.Namespace, b.Name, orAll(b.Path), c.Message)
					}
				case facts.ContractUnknown:
					if p.Unknown == "deny" {
						r.unknown(name, "whether it still fits is known after the apply only")
					}
				default:
					r.unknown(name, "the verdict %q is not known", c.Verdict)
				}
			}
		}, oneOf("unknown", p.Unknown, "deny", "allow")
	},
}

func orAll(path string) string {
	if path == "" {
		return "all of it"
	}
	return path
}
