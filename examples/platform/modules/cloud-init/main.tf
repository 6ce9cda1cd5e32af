locals {
  # Three and more control planes keep a majority of etcd. All have fixed addresses, so that each machine's
  # cloud-init can name the others before they exist.
  servers = [for i in range(var.control_planes) : {
    name   = "${var.platform}-${var.region}-server-${i + 1}"
    role   = "server"
    first  = i == 0
    subnet = var.subnets[i % length(var.subnets)]
    host   = 10 + floor(i / length(var.subnets))
  }]
  agents = [for i in range(var.workers) : {
    name   = "${var.platform}-${var.region}-agent-${i + 1}"
    role   = "agent"
    first  = false
    subnet = var.subnets[i % length(var.subnets)]
    host   = 20 + floor(i / length(var.subnets))
  }]
  nodes = [for n in concat(local.servers, local.agents) : {
    name            = n.name
    role            = n.role
    first           = n.first
    subnet          = n.subnet
    private_address = cidrhost(n.subnet.cidr, n.host)
  }]

  join = "https://${coalesce(var.join_address, local.nodes[0].private_address)}:6443"

  # The same for all machines.
  common = {
    token        = var.join_token
    "node-label" = [for k, v in var.kubernetes.node_labels : "${k}=${v}"]
    "kubelet-arg" = [
      "max-pods=${var.kubernetes.max_pods}",
    ]
  }
  # k3s demands that these are equal on all servers.
  server = merge({
    "cluster-cidr"          = var.kubernetes.pod_cidr
    "service-cidr"          = var.kubernetes.service_cidr
    disable                 = var.kubernetes.disable
    "secrets-encryption"    = true
    "write-kubeconfig-mode" = "0600"
    "tls-san" = distinct(compact(concat(
      [var.api_address, var.join_address, var.domain == "" ? "" : "api.${var.domain}"],
      var.kubernetes.tls_sans,
    )))
    "etcd-arg"           = ["quota-backend-bytes=${format("%d", var.kubernetes.etcd_quota_bytes)}"]
    "kube-apiserver-arg" = [for size in [var.kubernetes.watch_cache_size] : "default-watch-cache-size=${size}" if size != null]
    "kube-controller-manager-arg" = [
      "node-monitor-period=${var.kubernetes.node_monitor_period}s",
      "node-monitor-grace-period=${var.kubernetes.node_monitor_grace_period}s",
    ]
    }, { for k, v in {
      "flannel-backend"        = "none"
      "disable-network-policy" = true
  } : k => v if var.kubernetes.cni == "external" })

  config = { for n in local.nodes : n.name => merge(
    local.common,
    { "node-name" = n.name, "node-ip" = n.private_address },
    { for k, v in local.server : k => v if n.role == "server" },
    { for k, v in { "cluster-init" = true } : k => v if n.first },
    { for k, v in { server = local.join } : k => v if !n.first },
  ) }

  release = var.kubernetes.binary_url == null ? "https://github.com/k3s-io/k3s/releases/download/${replace(var.kubernetes.version, "+", "%2B")}" : var.kubernetes.binary_url

  # The images that k3s needs itself come with its program. Only with the Internet, k3s pulls them.
  airgap_sums   = join("", [for arch, sum in var.kubernetes.airgap_sha256 : "K3S_IMAGES_SHA256_${upper(arch)}='${sum}'\n"])
  airgap_images = local.release != "" && coalesce(var.kubernetes.airgap_images, var.air_gap)

  files = { for n in local.nodes : n.name => concat([
    {
      path        = "/etc/rancher/k3s/config.yaml"
      permissions = "0600"
      content     = yamlencode(local.config[n.name])
    },
    {
      path        = "/etc/systemd/system/k3s.service"
      permissions = "0644"
      content     = templatefile("${path.module}/files/k3s.service", { verb = n.role })
    },
    {
      path        = "/etc/yuba/k3s.env"
      permissions = "0644"
      content     = "K3S_URL='${local.release}'\nK3S_SHA256_AMD64='${lookup(var.kubernetes.sha256, "amd64", "")}'\nK3S_SHA256_ARM64='${lookup(var.kubernetes.sha256, "arm64", "")}'\n${local.airgap_images ? "K3S_IMAGES='true'\n${local.airgap_sums}" : ""}"
    },
    {
      path        = "/usr/local/lib/yuba/install-k3s"
      permissions = "0755"
      content     = file("${path.module}/files/install-k3s.sh")
    },
    ], n.first && var.call_home != null ? [
    {
      path        = "/etc/yuba/call-home.env"
      permissions = "0644"
      content     = "CALL_HOME_URL='${var.call_home.url}'\nAPI_ADDRESS='${var.api_address}'\n"
    },
    {
      path        = "/etc/yuba/call-home.crt"
      permissions = "0644"
      content     = var.call_home.ca
    },
    {
      path        = "/etc/yuba/call-home.header"
      permissions = "0600"
      content     = "Authorization: Bearer ${var.call_home_token}\n"
    },
    {
      path        = "/usr/local/lib/yuba/call-home"
      permissions = "0755"
      content     = file("${path.module}/files/call-home.sh")
    },
  ] : []) }

  user_data = { for n in local.nodes : n.name => "#cloud-config\n${yamlencode(merge({
    hostname         = n.name
    manage_etc_hosts = true
    ssh_pwauth       = false
    disable_root     = true
    write_files      = local.files[n.name]
    # One list for each command: nothing is read by a shell twice.
    runcmd = concat(
      [["/usr/local/lib/yuba/install-k3s"], ["systemctl", "daemon-reload"], ["systemctl", "enable", "--now", "--no-block", "k3s"]],
      n.first && var.call_home != null ? [["/usr/local/lib/yuba/call-home"]] : [],
    )
  }, { for k, v in { ssh_authorized_keys = var.ssh_authorized_keys } : k => v if length(v) > 0 }))}" }
}
