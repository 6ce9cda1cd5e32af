// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/web/docsite/diagram"
)

var pictured = map[string]string{
	"environments/staging/main.tf": `
module "shop" { source = "../../modules/shop" }
module "copies" { source = "../../modules/shop" }
module "net" {
  source  = "acme/net/aws"
  version = "~> 1.0"
}`,
	"modules/shop/main.tf": requires("aws", "~> 5.0") + `
variable "password" {
  type        = string
  default     = "hunter2"
  sensitive   = true
  description = "A <script>alert(1)</script> | with a pipe"
}
variable "size" {
  type    = number
  default = 3
}
variable "name" { type = string }
module "inner" { source = "../inner" }
output "url" {
  value       = "x"
  description = "Where it is."
}`,
	"modules/inner/main.tf": "",
}

func TestThePageOfAModule(t *testing.T) {
	const want = "# modules/shop\n" + `
## Variables

| name | type | default | description |
|---|---|---|---|
| ` + "`name`" + ` | ` + "`string`" + ` | required |  |
| ` + "`password`" + ` | ` + "`string`" + ` | hidden | A &lt;script&gt;alert(1)&lt;/script&gt; \| with a pipe (sensitive) |
| ` + "`size`" + ` | ` + "`number`" + ` | ` + "`3`" + ` |  |

## Outputs

| name | description |
|---|---|
| ` + "`url`" + ` | Where it is. |

## Providers

| name | source | version |
|---|---|---|
| ` + "`aws`" + ` | ` + "`hashicorp/aws`" + ` | ` + "`~> 5.0`" + ` |

## Calls

| name | module | version |
|---|---|---|
| ` + "`inner`" + ` | ` + "`modules/inner`" + ` |  |

## Called by

- ` + "`environments/staging`\n"
	if got := read(t, pictured).Page("modules/shop"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestThePictureOfALibrary(t *testing.T) {
	l := read(t, pictured)
	const want = `flowchart LR
  m0["environments/staging"]
  m1(["acme/net/aws"])
  m0 -->|net| m1
  m2["modules/shop"]
  m0 -->|copies, shop| m2
  m3["modules/inner"]
  m2 -->|inner| m3
`
	got := Mermaid(l.Edges("environments/staging"))
	if got != want {
		t.Errorf("got:\n%s", got)
	}
	if svg, err := diagram.SVG(got); err != nil || !strings.Contains(svg, "modules/shop") {
		t.Errorf("%v", err)
	}
	if edges := l.Edges(); len(edges) != 3 {
		t.Errorf("%v", edges)
	}
}
