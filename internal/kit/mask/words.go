// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package mask

import "strings"

// set returns the set of words in a text.
func set(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}

// truths are booleans and similar words: they are everywhere and reveal nothing.
var truths = set(`true false null nil none yes no on off enable disable enabled disabled n/a undefined nan`)

// words are common in configurations, providers and their errors. If one is a password, masking it
// in every sentence would reveal that, and hide the errors.
var words = set(`
accept access account accounts acme action active actual add address admin administrator agent alias all allow alpha always
amazon anonymous any apache api app apple application applications apply apps archive argument array artifact asset async attach
attribute audit auth authentication author auto availability available aws azure azurerm
back backend backup bad balancer base basic batch beta bind blob block blue body bool boolean boot broker bucket build bus business
cache call canary cancel cassandra cdn center central certificate chain change channel charset chart check client cloud cloudflare
cluster code collection collation color column command commit common company compute config configuration connect connection console
consul container content context control controller cookie core count create created credential credentials cron custom customer
customers daemon dashboard data database databases datacenter date db debug decode default delete demo deny deploy deployment
description destroy dev developer development device dialect digest direct directory disk dns docker document domain download draft
drift driver dry duration dynamic east edge editor elastic elasticsearch email encode encoding end endpoint engine entity env
environment error etcd event events example exchange executor exist exists expired export external
fail failed failure fallback feature file files filter finance fix flag flow folder force foreign format free frontend full function
gateway general generic git gitea github gitlab global gmail go google grafana grant green group groups guest
handler hash header health healthy hello helm help high hook host hostname hosts hosted hot http https hub
iam id identity image import index info infra infrastructure init input insert instance instances integer internal internet invalid
issue item items java job jobs json jump kafka key keycloak keys keyspace kind kubernetes
label labels lambda large latency latest layer leader legacy level library license limit limits link linux list listen listener load
local localdomain localhost location lock log login logs loki lookup low
machine mail main maintenance manage managed manager manifest manual map mariadb master match max media medium member memory message
metadata method metric metrics micro migration min mobile mode model module modules mongo mongodb monitor monitoring mount mssql
multi mysql name names namespace nano nat native network networks never new next nfs nginx node nodes nomad normal north note
notification null number oauth object objects oci offline okta old online open openstack operation operator optional options oracle
order orders org organization origin output outputs owner
package page parameter parent partner password path pay payment payments peer pending permission personal pg phone pipeline placeholder
plan platform plugin pod policy pool port portal post postgres postgresql preferred premium present preview primary private privilege
process prod producer product production products profile program project projects prometheus protocol provider proxy public
publish publisher pull push query queue quota
rabbit rabbitmq random range rate read reader readonly readwrite ready real realm record recovery redis reference refresh region
registry release remote replica replicas replication report repository request require required reserved reset resource resources
response rest restore result retry return review role roles rollback root route router routes routing row rule rules run runner
running runtime
sales sample sandbox scale schedule schema scope script search secondary secret secrets section secure security select sensitive sentinel
sequence serial server servers service services session set setting settings setup shard share shared shell shop short show simple
single site size skip slave slot small snapshot socket software source south space sql sqlserver ssd ssh ssl stable stack stage
staging standard standby start state static status stop storage store stream strict string strong style subdomain subject subnet
subscription success super superuser support suspend switch sync syslog system
table tag tags target task tcp team teams temp template temporary tenant tenants terraform test tester testing tests text theme
thread tier time timeout title tls tmp tofu token tool topic total trace traffic trial trigger trust type udp ui unit unknown
update upload upper upstream url usage user username users utc utf8 utf8mb4 uuid
valid validate value values variable variables vault verify verify-ca verify-full version view viewer virtual vm volume vpc vpn
wait warning watch web webhook website webui west wiki wildcard window windows work worker workers workspace world write writer www
xlarge xml yaml zero zone zones zookeeper
central1 east1 east2 northeurope westeurope eastus eastus2 westus westus2 centralus francecentral germanywestcentral uksouth ukwest
abc foo bar baz qux lorem ipsum
`)
