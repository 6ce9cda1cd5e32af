locals {
  name         = "${var.platform}-${var.region}"
  balanced     = coalesce(var.load_balancer, var.control_planes > 1)
  first        = "${local.name}-server-1"
  api_address  = local.balanced ? one(module.load_balancer[*].load_balancer.address) : aws_eip.api[0].public_ip
  join_address = local.balanced ? one(module.load_balancer[*].load_balancer.private_address) : null
  image        = var.image != "" ? var.image : data.aws_ami.debian[0].id
}

data "aws_ami" "debian" {
  count = var.image == "" ? 1 : 0

  most_recent = true
  owners      = ["136693071363"] # Debian

  filter {
    name   = "name"
    values = ["debian-12-amd64-*"]
  }
}

module "load_balancer" {
  source = "../load-balancer"
  count  = local.balanced ? 1 : 0

  name    = local.name
  region  = var.region
  labels  = var.labels
  network = var.network
}

# The address of the API must be known before the machine exists: it is in the machine's cloud-config.
resource "aws_eip" "api" {
  count = local.balanced ? 0 : 1

  domain = "vpc"
  tags   = merge(var.labels, { Name = "${local.name}-api" })
}

resource "aws_eip_association" "api" {
  count = local.balanced ? 0 : 1

  allocation_id = aws_eip.api[0].id
  instance_id   = aws_instance.node[local.first].id
}

module "cloud_init" {
  source = "../../cloud-init"

  platform            = var.platform
  region              = var.region
  subnets             = var.network.subnets
  control_planes      = var.control_planes
  workers             = var.workers
  domain              = var.domain
  api_address         = local.api_address
  join_address        = local.join_address
  kubernetes          = var.kubernetes
  ssh_authorized_keys = var.ssh_authorized_keys
  join_token          = var.join_token
  call_home           = var.call_home
  call_home_token     = var.call_home_token
  air_gap             = var.air_gap
}

# Cloud-init runs once, so changes of it do not touch machines that exist. A new generation replaces them.
resource "terraform_data" "generation" {
  input = var.generation
}

resource "aws_instance" "node" {
  for_each = { for n in module.cloud_init.nodes : n.name => n }

  ami                    = local.image
  instance_type          = each.value.role == "server" ? var.size : coalesce(var.worker_size, var.size)
  subnet_id              = each.value.subnet.id
  private_ip             = each.value.private_address
  vpc_security_group_ids = [var.network.firewall_id]
  user_data              = module.cloud_init.user_data[each.key]
  tags                   = merge(var.labels, { Name = each.key })

  # Pods must not read the user data, which has the join token.
  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    volume_size = 40
    volume_type = "gp3"
    encrypted   = true
  }

  lifecycle {
    ignore_changes       = [user_data, ami]
    replace_triggered_by = [terraform_data.generation]
  }
}

resource "aws_lb_target_group_attachment" "api" {
  for_each = local.balanced ? { for n in module.cloud_init.nodes : n.name => n if n.role == "server" } : {}

  target_group_arn = module.load_balancer[0].load_balancer.target_group
  target_id        = aws_instance.node[each.key].private_ip
  port             = 6443
}
